# What the checkup says, by the names of its sentences in t/perl/sentences, where alone the tests have their words.

package Checkup;

use strict;
use warnings;

use Exporter 'import';
use JSON::PP;
use PostgreSQL::Test::Utils;
use Server;

our @EXPORT = qw(checkup sentence);

# No text ends a sentence.
my %placeholder = (s => '((?:[^.]|\.(?=\w))*?)', d => '(-?\d+)', f => '(-?[\d.]+)', g => '(-?[\d.]+)', '%' => '%');

# Each template as a pattern, whose groups are what it was given.
my %pattern;
my $source = slurp_file('t/perl/sentences');
while ($source =~ /^(\w+)\s+(".*")$/mg)
{
	my ($name, $literals) = ($1, $2);
	my $template = join '', map { s/\\(.)/$1 eq 'n' ? "\n" : $1/ger } $literals =~ /"((?:[^"\\]|\\.)*)"/g;
	$pattern{$name} = join '', map { /^%.*(.)$/ ? $placeholder{$1} : quotemeta } split /(%[-\d.*]*[sdfg%])/, $template;
}
# Of two that match, the one with more words of its own comes first.
my @answers = sort { length $pattern{$b} <=> length $pattern{$a} } 'NEVER_EVICTED', grep { /^SAY_/ } keys %pattern;

sub sentence { return qr/$pattern{ $_[0] }/ }

# The rows by their topics. "says" has the verdict, the name of the answer without SAY_, and what it was given, such as
# "fine NEARLY_FULL 120 kB, 16 MB"; "order" is the number of the row.
sub checkup
{
	my ($node, $database, $before) = @_;
	my $rows = decode_json((split /\n/, ask($node, ($before // '') . ';SELECT jsonb_agg(c) FROM pgbufprobe_checkup() AS c', $database))[-1]);
	my %by_topic;

	for my $i (0 .. $#$rows)
	{
		my $row = $rows->[$i];
		my ($name) = grep { $row->{answer} =~ /\A$pattern{$_}\z/ } @answers;
		my @given = $name ? $row->{answer} =~ /\A$pattern{$name}\z/ : ();
		@given = () if $name && $pattern{$name} !~ /\(/;
		$_ //= '' for values %$row;
		$row->{order} = $i;
		$row->{says} = join ' ', $row->{verdict}, $name ? $name =~ s/^SAY_//r : 'nothing known', join(', ', @given) || ();
		$by_topic{ $row->{topic} } = $row;
	}
	return \%by_topic;
}

1;
