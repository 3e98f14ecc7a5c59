# META.json follows the PGXN Meta Spec 1.0.0, so that no upload is refused, and the files that it names exist. The
# checker itself is tested with broken copies, each of which it must refuse.

use strict;
use warnings;
use JSON::PP;
use Test::More;

my $number = qr/(?:0|[1-9][0-9]*)/;
my $semver = qr/$number\.$number\.$number(?:-?[a-zA-Z][-0-9A-Za-z]*)?/;
my $condition = qr/(?:(?:[<>]=?|[!=]=)\s*)?(?:$semver|0)/;
my $text = qr/.*\S.*/s;
my $term = qr{[^\s/\\[:cntrl:]]{2,}};
my $url = qr{[a-z][-+.a-z0-9]*://[^/?#\s]+\S*}i;
# The documents are this repository's, so that what they name must be in it.
my $file = qr{(?!/)(?!.*\.\.)\S+};
my $license = qr/agpl_3|apache_(?:1_1|2_0)|artistic_[12]|bsd|freebsd|gfdl_1_[23]|gpl_[123]|lgpl_(?:2_1|3_0)|mit|mozilla_1_[01]|openssl
	|perl_5|postgresql|qpl_1_0|ssleay|sun|zlib|open_source|restricted|unrestricted|unknown/x;

# The forms that the specification has for the values at each place. "[]" is an element of a list, which may stand alone.
my %forms = (
	'/name' => $term,
	'/(?:abstract|description|generated_by)' => $text,
	'/version' => $semver,
	'/maintainer(?:\[\])?' => $text,
	'/license(?:\[\])?' => $license,
	"/license/$text" => $url,
	"/provides/$term/(?:file|docfile)" => $file,
	"/provides/$term/version" => $semver,
	"/provides/$term/abstract" => $text,
	'/meta-spec/version' => qr/1\.0\.0/,
	'/meta-spec/url' => $url,
	'/tags(?:\[\])?' => qr{[^/\\[:cntrl:]]{1,256}},
	'/release_status' => qr/stable|testing|unstable/,
	'/no_index/(?:file|directory)(?:\[\])?' => $file,
	"/prereqs/(?:configure|build|test|runtime|develop)/(?:requires|recommends|suggests|conflicts)/$term" => qr/$condition(?:\s*,\s*$condition)*/,
	'/resources/(?:homepage|bugtracker/web|repository/(?:url|web))' => $url,
	'/resources/bugtracker/mailto' => qr/\S+@\S+/,
	'/resources/repository/type' => qr/[^[:upper:]]+/, '(?:/.+)?/[Xx]_.+' => qr/.*/s);
my @required = qw(/name /abstract /version /maintainer /license /provides /meta-spec/version);

# Each value below a place, with its place; undef is an empty list or object.
sub values_below
{
	my ($place, $value) = @_;
	my @below = ref $value eq 'HASH' ? map { values_below("$place/$_", $value->{$_}) } sort keys %$value
	  : ref $value eq 'ARRAY' ? map { values_below("$place\[]", $_) } @$value : [ $place, $value ];
	return @below ? @below : [ $place, undef ];
}

sub faults_of
{
	my ($document) = @_;
	my @values = values_below('', $document);
	my @missing = grep { my $place = $_; !grep { $_->[0] =~ m{\A\Q$place\E(?:[/\[]|\z)} } @values }
	  @required, map { ("/provides/$_/file", "/provides/$_/version") } ref $document->{provides} eq 'HASH' ? sort keys %{ $document->{provides} } : ();
	my @wrong = grep { my ($place, $value) = @$_; !defined $value || !grep { $place =~ /\A$_\z/ && $value =~ /\A(?:$forms{$_})\z/ } keys %forms } @values;
	my @faults = (map({ "$_: missing" } @missing), map { "$_->[0]: " . ($_->[1] // 'nothing') } @wrong);
	return @faults;
}

# ---------------------------------------------------------------------------
# META.json

open my $handle, '<:raw', 'META.json' or die "META.json: $!";
my $json = do { local $/; <$handle> };
my $meta = eval { decode_json($json) };
is($@, '', 'META.json is JSON');
is_deeply([ faults_of($meta) ], [], 'and what the specification asks for');
SKIP:
{
	eval { require PGXN::Meta::Validator } or skip 'no PGXN::Meta::Validator, which CPAN has', 1;
	my $validator = PGXN::Meta::Validator->new($meta);
	ok($validator->is_valid, "PGXN's own validator agrees") or diag($validator->errors);
}

for my $extension (sort keys %{ $meta->{provides} })
{
	my $provided = $meta->{provides}{$extension};
	ok(-f "$extension.control", "$extension: there is a control file");
	ok(-f $provided->{$_}, "$extension: its $_ is there") for grep { exists $provided->{$_} } 'file', 'docfile';
}
ok($meta->{provides}{ $meta->{name} }, 'the archive has the name of an extension in it');

# ---------------------------------------------------------------------------
# The checker

# Sets what stands at a place, or removes it.
sub broken
{
	my ($place, @value) = @_;
	my $copy = decode_json($json);
	my ($parent, @path) = ($copy, grep { $_ ne '' } split m{/}, $place);
	my $last = pop @path;
	$parent = $parent->{$_} //= {} for @path;
	@value ? $parent->{$last} = $value[0] : delete $parent->{$last};
	return $copy;
}

my @breaks = (
	(map { [$_] } '/name', '/abstract', '/version', '/maintainer', '/license', '/provides', '/meta-spec',
		'/meta-spec/version', '/provides/pgbufprobe/file', '/provides/pgbufprobe/version'),
	[ '/name', 'pg bufprobe' ],
	[ '/name', 'p' ],
	[ '/name', 'pg/bufprobe' ],
	[ '/abstract', '' ],
	[ '/abstract', ['what it costs'] ],
	[ '/version', '1.0' ],
	[ '/version', '1.0.0.0' ],
	[ '/version', '01.0.0' ],
	[ '/version', undef ],
	[ '/maintainer', [] ],
	[ '/license', 'PostgreSQL' ],
	[ '/license', { PostgreSQL => 'licence' } ],
	[ '/provides', {} ],
	[ '/provides/pgbufprobe', 'pgbufprobe--1.0.sql' ],
	[ '/provides/pgbufprobe/file', '/etc/passwd' ],
	[ '/provides/pgbufprobe/version', '1.0' ],
	[ '/meta-spec/version', '2.0.0' ],
	[ '/meta-spec/url', 'nowhere' ],
	[ '/tags', ['a/b'] ],
	[ '/tags', [ 'x' x 257 ] ],
	[ '/release_status', 'beta' ],
	[ '/prereqs/runtime/requires/PostgreSQL', '15' ],
	[ '/prereqs/runtime/needs', { PostgreSQL => '15.0.0' } ],
	[ '/prereqs/run', { requires => { PostgreSQL => '15.0.0' } } ],
	[ '/resources/repository/url', 'here' ],
	[ '/resources/bugtracker/mailto', 'nobody' ], [ '/keywords', ['cache'] ]);
for (@breaks)
{
	my ($place, @value) = @$_;
	my $what = @value ? encode_json(\@value) =~ s/\A\[(.{0,40}).*\]\z/$1/sr : 'removed';
	isnt(scalar faults_of(broken($place, @value)), 0, "refused: $place $what");
}
for ([ '/release_status', 'testing' ], [ '/x_more', [1] ], [ '/version', '1.0.0-rc1' ],
	[ '/license', { PostgreSQL => 'https://www.postgresql.org/about/licence' } ],
	[ '/prereqs/runtime/requires/PostgreSQL', '>= 15.0.0, < 20.0.0' ], [ '/prereqs/runtime/requires/plpgsql', 0 ])
{
	is_deeply([ faults_of(broken(@$_)) ], [], "accepted: $_->[0] " . encode_json([ $_->[1] ]));
}

done_testing();
