# The functions of the extension, as t/sql/interface.sql documents them and as the catalog has them.

package Interface;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;
use Server;

our @EXPORT = qw($members is_documented_reader keep_values members simple_calls);

# What the extension has made: classid and objid.
our $members = q{(SELECT d.classid, d.objid FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
	WHERE d.deptype = 'e' AND e.extname = 'pgbufprobe')};

# A value for each argument that a call cannot leave out; what is kept is in the table of keep_values().
my %value_of = (
	regclass => q{'pg_class'},
	jsonb => 'state',
	bytea => 'map',
	text => q{'willneed'});

# Name => whether pg_monitor may call it.
sub is_documented_reader
{
	my %documented = slurp_file('t/sql/interface.sql') =~ /^    \('(pgbufprobe_\w+)\([^']*\)', '\w', \w+, '\w', (true|false),/mg;

	return map { $_ => $documented{$_} eq 'true' } keys %documented;
}

# What calls of functions can be given that only other functions make.
sub keep_values
{
	my ($node) = @_;

	ask($node, q{
		CREATE TABLE kept AS SELECT pgbufprobe_snapshot() AS state, map FROM pgbufprobe_cache_map('pg_class', 'main');
		GRANT SELECT ON kept TO PUBLIC});
	return;
}

# The names of the functions that the extension has made.
sub members
{
	my ($node) = @_;

	return split /\n/, ask($node, qq{SELECT proname FROM pg_proc p JOIN $members m ON classid = 'pg_proc'::regclass AND objid = p.oid
		ORDER BY proname COLLATE "C"});
}

# For each function a query that is true if the function returns a row. Arguments have their defaults if there are some,
# but no call takes longer than necessary, or calls another function.
sub simple_calls
{
	my ($node) = @_;
	my %query;

	for my $name (members($node))
	{
		my @arguments;

		for (split /\n/, ask($node, qq{
			SELECT proargnames[n], proargtypes[n - 1]::regtype, n <= pronargs - pronargdefaults
			  FROM pg_proc, generate_series(1, pronargs) n WHERE proname = '$name' ORDER BY n}))
		{
			my ($argument, $type, $is_required) = split /\|/;

			push @arguments, $value_of{$type} // die "$name: no value for $type" if $is_required eq 't' || $type eq 'jsonb';
			push @arguments, "$argument => '1 ms'" if $type eq 'interval';
		}
		$query{$name} = "SELECT count(*) > 0 FROM kept, $name(" . join(', ', @arguments) . ')';
	}
	return %query;
}

1;
