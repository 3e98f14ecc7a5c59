# META.json follows the PGXN Meta Spec 1.0.0, so that no upload is refused, and the files that it names exist. The
# checker itself is tested with broken copies, each of which it must refuse.

use strict;
use warnings;
use JSON::PP;
use Test::More;

my @faults;    # of the document that is checked; each begins with the place

sub fault
{
	my ($place, $what) = @_;
	push @faults, "$place: $what";
}

# --- forms ------------------------------------------------------------------------------------------

sub is_text
{
	my ($value) = @_;
	return defined $value && !ref $value && $value =~ /\S/;
}

sub form
{
	my ($pattern, $name) = @_;
	return sub {
		my ($place, $value) = @_;
		fault($place, "no $name") unless is_text($value) && $value =~ $pattern;
	};
}

my $number = qr/(?:0|[1-9][0-9]*)/;
my $semver = qr/$number\.$number\.$number(?:-?[a-zA-Z][-0-9A-Za-z]*)?/;
my $condition = qr/(?:(?:[<>]=?|[!=]=)\s*)?(?:$semver|0)/;

my $text = form(qr//, 'text');
my $version = form(qr/\A$semver\z/, 'semantic version');
my $range = form(qr/\A$condition(?:\s*,\s*$condition)*\z/, 'version range');
my $term = form(qr{\A[^\s/\\[:cntrl:]]{2,}\z}, 'term');
my $tag = form(qr{\A[^/\\[:cntrl:]]{1,256}\z}, 'tag');
my $url = form(qr{\A[a-z][-+.a-z0-9]*://[^/?#\s]+\S*\z}i, 'URL');
my $email = form(qr/\A\S+@\S+\z/, 'e-mail address');
my $lower_case = form(qr/\A[^[:upper:]]+\z/, 'lower case text');
my $status = form(qr/\A(?:stable|testing|unstable)\z/, 'release status');
my $phase = form(qr/\A(?:configure|build|test|runtime|develop)\z/, 'phase');
my $relationship = form(qr/\A(?:requires|recommends|suggests|conflicts)\z/, 'relationship');
my $custom = form(qr/\Ax_./i, 'known key, and does not begin with x_');
my $license = form(
	qr/\A(?:agpl_3|apache_(?:1_1|2_0)|artistic_[12]|bsd|freebsd|gfdl_1_[23]|gpl_[123]|lgpl_(?:2_1|3_0)|mit
	   |mozilla_1_[01]|openssl|perl_5|postgresql|qpl_1_0|ssleay|sun|zlib|open_source|restricted|unrestricted
	   |unknown)\z/x, 'name of a license');
# The documents are this repository's, so that what they name must be in it.
my $file = form(qr{\A(?!/)(?!.*\.\.)\S+\z}, 'path in the archive');

sub one_or_more
{
	my ($element) = @_;
	return sub {
		my ($place, $value) = @_;
		my @list = ref $value eq 'ARRAY' ? @$value : $value;
		fault($place, 'empty') unless @list;
		$element->("$place\[$_\]", $list[$_]) for 0 .. $#list;
	};
}

# Any keys of one form, with values of one form; at least one.
sub keyed
{
	my ($key, $element) = @_;
	return sub {
		my ($place, $value) = @_;
		return fault($place, 'no object') unless ref $value eq 'HASH';
		fault($place, 'empty') unless %$value;
		for my $name (sort keys %$value)
		{
			$key->("$place/$name", $name);
			$element->("$place/$name", $value->{$name});
		}
	};
}

# These keys, of which those marked with an asterisk must be there, and custom ones.
sub object
{
	my (%known) = @_;
	my @required = map { s/\*\z//r } grep { /\*\z/ } sort keys %known;
	%known = map { s/\*\z//r => $known{$_} } keys %known;
	return sub {
		my ($place, $value) = @_;
		return fault($place, 'no object') unless ref $value eq 'HASH';
		for my $name (@required)
		{
			fault("$place/$name", 'missing') unless exists $value->{$name};
		}
		for my $name (sort keys %$value)
		{
			my $check = $known{$name};
			$check ? $check->("$place/$name", $value->{$name}) : $custom->("$place/$name", $name);
		}
	};
}

sub either
{
	my ($if_object, $otherwise) = @_;
	return sub {
		my ($place, $value) = @_;
		(ref $value eq 'HASH' ? $if_object : $otherwise)->($place, $value);
	};
}

# --- the specification ------------------------------------------------------------------------------

my $specification = object(
	'name*' => $term,
	'abstract*' => $text,
	'version*' => $version,
	'maintainer*' => one_or_more($text),
	'license*' => either(keyed($text, $url), one_or_more($license)),
	'provides*' => keyed(
		$term,
		object(
			'file*' => $file,
			'version*' => $version,
			'abstract' => $text,
			'docfile' => $file)),
	'meta-spec*' => object('version*' => form(qr/\A1\.0\.0\z/, 'version of this specification'), 'url' => $url),
	'description' => $text,
	'generated_by' => $text,
	'tags' => one_or_more($tag),
	'release_status' => $status,
	'no_index' => object('file' => one_or_more($file), 'directory' => one_or_more($file)),
	'prereqs' => keyed($phase, keyed($relationship, keyed($term, $range))),
	'resources' => object(
		'homepage' => $url,
		'bugtracker' => object('web' => $url, 'mailto' => $email),
		'repository' => object('url' => $url, 'web' => $url, 'type' => $lower_case)));

sub faults_of
{
	my ($document) = @_;
	@faults = ();
	$specification->('', $document);
	return @faults;
}

# --- META.json --------------------------------------------------------------------------------------

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

# --- the checker ------------------------------------------------------------------------------------

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
