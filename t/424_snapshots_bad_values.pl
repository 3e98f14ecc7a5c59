# What is no snapshot: a real one with something else in a random place. Each is a snapshot that adds up, or a mistake of the user.

use strict;
use warnings;

use JSON::PP;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

srand(20261122);

my $node = start_server('main', "shared_buffers = 2048\n$no_background_writes", extra => [ '--encoding=UTF8', '--no-locale' ]);
ask($node, 'CREATE EXTENSION pgbufprobe');
my $json = JSON::PP->new->canonical->allow_nonref->allow_bignum;
my @junk = ('null', 'true', -1, 0, 1, 2147483648, 4294967296, '9223372036854775807', '9223372036854775808', 1.5, '"x"', '""', '"infinity"', '"2000-01-01"',
	'[]', '{}', '[0, 0, 0, 0, 0, 0, 0]', '[{}, {}, {}, {}, {}, {}, {}]', '"' . 'y' x 10000 . '"');

# Each place in a value, as a reference to where it is kept.
sub places
{
	my ($value) = @_;
	return map { ($_, places($$_)) } ref $value eq 'HASH' ? map { \$value->{$_} } sort keys %$value
	  : ref $value eq 'ARRAY' ? map { \$_ } @$value : ();
}

sub replace_place
{
	my $value = $json->decode($_[0]);

	for (0 .. int rand 3)
	{
		my @places = places($value);
		my $place = $places[ rand @places ];
		my $other = $json->encode(${ $places[ rand @places ] });

		if (ref $$place eq 'HASH' && %$$place && rand() < 0.3) { my @keys = sort keys %$$place; delete $$place->{ $keys[ rand @keys ] }; }
		elsif (ref $$place eq 'ARRAY' && @$$place && rand() < 0.3) { splice @$$place, rand @$$place, 1, map { $json->decode($other) } 1 .. rand 3; }
		else { $$place = $json->decode(rand() < 0.3 ? $other : $junk[ rand @junk ]); }
	}
	return $json->encode($value);
}

sub replace_bytes
{
	my ($text) = @_;

	substr($text, rand length $text, 1) = chr(32 + rand 95) for 0 .. int rand 3;
	return $text;
}

sub replace_digits
{
	my ($text) = @_;
	my @digits;

	push @digits, pos($text) - 1 while $text =~ /\d/g;
	substr($text, $digits[ rand @digits ], 1) = int rand 10 for 0 .. int rand 3;
	# What makes a number a huge one, or none.
	return $text =~ s/(?<=[ \[:])(\d+)(?=[,\]}])/rand() < 0.02 ? $1 . ('e400', 'e3', '.0', 'e-1', '0' x 30)[ rand 5 ] : $1/ger;
}

# Of two relations, so that more of what is replaced is something else than another relation.
ask($node, q{
	CREATE TABLE good AS SELECT jsonb_set(state, '{relations}', jsonb_build_array(state->'relations'->0, state->'relations'->1)) AS state
		FROM pgbufprobe_snapshot() AS state;
	CREATE TABLE bad (n serial, value text);
	CREATE FUNCTION judge(value text, OUT states text, OUT adds_up boolean) LANGUAGE plpgsql AS $$
	DECLARE
		good jsonb := (SELECT state FROM good);
		call text;
		one boolean;
	BEGIN
		FOREACH call IN ARRAY '{"($1, $2)", "($2, $1)"}'::text[] LOOP
			BEGIN
				EXECUTE 'SELECT count(*) = 7 AND bool_and(least(from_buffers, to_buffers, from_dirty, to_dirty) >= 0 AND coalesce(passes, 0) >= 0)
				           FROM pgbufprobe_snapshot_diff' || call INTO one USING value::jsonb, good;
				adds_up := coalesce(adds_up, true) AND one;
				EXECUTE 'SELECT coalesce(bool_and(least(from_buffers, to_buffers, from_dirty, to_dirty) >= 0 AND num_nonnulls(from_buffers, to_buffers) >= 1), true)
				           FROM pgbufprobe_snapshot_diff' || replace(call, ')', ', true)') INTO one USING value::jsonb, good;
				adds_up := adds_up AND one;
				states := concat_ws(' ', states, '00000');
			EXCEPTION WHEN others THEN
				states := concat_ws(' ', states, SQLSTATE);
			END;
		END LOOP;
	END $$});
my $good = ask($node, 'SELECT state FROM good');
is(ask($node, 'SELECT j.* FROM good, judge(state::text) j'), '00000 00000|t', 'what nothing was done to is a snapshot');

my @ways = (\&replace_place, \&replace_bytes, \&replace_digits);
my $file = "${PostgreSQL::Test::Utils::tmp_check}/bad";
append_to_file($file, join '', map { $ways[ $_ % @ways ]->($good) =~ s/\\/\\\\/gr . "\n" } 1 .. 10_000);
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-c', "\\copy bad(value) FROM '$file'" ],
	'10,000 bad values');
ask($node, 'CREATE TABLE judged AS SELECT b.*, j.* FROM bad b, judge(value) j');
note(ask($node, "SELECT count(*), state FROM judged, regexp_split_to_table(states, ' ') AS state GROUP BY 2 ORDER BY 1 DESC"));
is(ask($node, q{SELECT count(*), bool_and(states ~ '^(00000|22...|0A...) (00000|22...|0A...)$'), bool_and(adds_up) FROM judged}),
	'10000|t|t', 'each is a snapshot that adds up, or a mistake of the user');
cmp_ok(ask($node, "SELECT count(*) FROM judged WHERE states ~ '$_'"), '>', 100, "often enough: $_") for '00000', '22023', '22P02';
has_no_crash($node);

$node->stop;
done_testing();
