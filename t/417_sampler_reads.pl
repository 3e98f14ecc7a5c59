# Entries of the history have the accesses, the misses, and the relations with the most reads; those of five minutes have
# sums of the others, and survive restarts.

use strict;
use warnings;

use Sampler;
use Server;
use Test::More;

my $shift = temp_path('seconds');
my $node = sampler_node('main', "pgbufprobe.history_interval = 1s\npgbufprobe.advice_memory = 1MB\n", SHIFT_CLOCK => $shift);

# Puts the clock of the server forward by as many seconds in all.
sub shift_clock { return put_file($shift, $_[0]) }

# ---------------------------------------------------------------------------
# The relations with the most reads

make_pages($node);
ask($node, 'CREATE TABLE few AS SELECT i AS id, repeat($$x$$, 5000) AS page FROM generate_series(1, 100) i');
my $newest = 'FROM (SELECT * FROM pgbufprobe_history() ORDER BY taken_at DESC LIMIT 30) AS h';
# Long enough for a worker that sleeps for a second.
ask($node, 'CALL load(60)');
becomes_true($node, "bool_or(top_relations[1] = 'pages' AND top_read_fractions[1] > 0.8) $newest", 'a table that is read is the first');
is(ask($node, 'SELECT string_agg(h::text, $$ $$) FROM (SELECT top_relations, top_read_fractions FROM pgbufprobe_history()) AS h
	WHERE (top_relations IS NULL) <> (top_read_fractions IS NULL) OR cardinality(top_relations) <> cardinality(top_read_fractions)
	   OR cardinality(top_relations) NOT BETWEEN 1 AND 5 OR (SELECT sum(f) > 1.001 OR min(f) < 0 FROM unnest(top_read_fractions) AS f)
	   OR top_read_fractions <> (SELECT array_agg(f ORDER BY f DESC) FROM unnest(top_read_fractions) AS f)
	   OR (SELECT count(*) <> count(DISTINCT r) FROM unnest(top_relations) AS r)'), '', 'there are up to five, each once, and the largest share is the first');
becomes_true($node, 'bool_or(miss_ratio > 0.1) FROM pgbufprobe_history()', 'entries have misses');
is(ask($node, q{SELECT bool_and(miss_ratio BETWEEN 0 AND 1 AND accesses > 0) FROM pgbufprobe_history() WHERE miss_ratio IS NOT NULL}),
	't', 'which are shares of the accesses');
is(ask($node, q{SELECT count(*) FROM pgbufprobe_history() WHERE (accesses = 0) <> (miss_ratio IS NULL)}), '0', 'if there were accesses');

ask($node, 'CREATE DATABASE other');
ask($node, 'CREATE EXTENSION pgbufprobe', 'other');
# Who asks reads other relations, and the accesses of a load come at its end.
my $its_entry = ask($node, q{SELECT max(taken_at) FROM pgbufprobe_history()
	WHERE top_relations[1] = 'pages' AND top_read_fractions[1] > 0.8});
my $first = "SELECT top_relations[1] FROM pgbufprobe_history() WHERE taken_at = '$its_entry'";
like(ask($node, $first, 'other'),
	qr{^base/\d+/\d+ in database postgres$}, 'in another database: its file and its database');
my $file = ask($node, q{SELECT pg_relation_filepath('pages')});
ask($node, 'CREATE SCHEMA "Of Mine"; ALTER TABLE pages SET SCHEMA "Of Mine"');
is(ask($node, $first), '"Of Mine".pages', 'in another schema: its name as SQL has it');
ask($node, 'DROP TABLE "Of Mine".pages');
is(ask($node, $first), $file, 'dropped: its file');
ask($node, 'DROP SCHEMA "Of Mine"');

# ---------------------------------------------------------------------------
# Another table is read

ask($node, 'DROP PROCEDURE load');
make_pages($node);
ask($node, keyed_pages('copies', 3 * $pool) . q{
	CREATE TABLE seen (note text);
	CREATE PROCEDURE read_copies() LANGUAGE plpgsql AS $$
	BEGIN
		SET enable_seqscan = off;
		SET enable_bitmapscan = off;
		FOR turn IN 1..200 LOOP
			FOR i IN 1..64 LOOP
				PERFORM length(page) FROM copies WHERE id = 1 + floor(random() * 3 * } . $pool . q{)::int;
			END LOOP;
			COMMIT;
			INSERT INTO seen SELECT note FROM pgbufprobe_advice()
				WHERE note LIKE '%the load has changed%other relations are read than before%';
			EXIT WHEN FOUND;
			PERFORM pg_sleep(0.1);
		END LOOP;
	END $$});
ok(load_until($node, 30, q{count(*) = 0 FROM pgbufprobe_advice() WHERE note LIKE '%other relations%'}), 'while the same table is read, the advice says nothing');
ask($node, 'CALL read_copies()');
is(ask($node, q{SELECT count(*) > 0 FROM seen WHERE note LIKE '%other relations%'}), 't', 'when another table is read, it does');
ask($node, 'DROP TABLE copies, pages');

# ---------------------------------------------------------------------------
# Five minutes

has_error($node, q{SELECT * FROM pgbufprobe_history('nonsense')}, qr/22023: unrecognized resolution: "nonsense"/, 'an unknown resolution is an error');
ask($node, 'DROP PROCEDURE load');
make_pages($node);
# So that no five minutes of the clock end but those that the test lets end.
my $begins = 301 - time % 300;
shift_clock($begins);
ask($node, 'SELECT pgbufprobe_history_reset()');
becomes_true($node, 'count(*) >= 1 FROM pgbufprobe_history()', 'samples are taken');
SKIP:
{
	my $now = ask($node, 'SELECT now()');
	shift_clock($begins + 300);
	skip 'the clock of this server cannot be shifted', 10 if ask($node, "SELECT now() < '$now'::timestamptz + interval '290 s'") eq 't';
	becomes_true($node, 'count(*) = 1 FROM pgbufprobe_history($$coarse$$)', 'five minutes later: an entry');
	ask($node, 'CALL load(60)');
	# What was loaded is seen by the next look.
	becomes_true($node, q{bool_or(top_relations[1] = 'pages' AND top_read_fractions[1] > 0.5) FROM pgbufprobe_history()
		WHERE taken_at > (SELECT max(taken_at) FROM pgbufprobe_history('coarse'))}, 'a table is read');
	shift_clock($begins + 600);
	becomes_true($node, 'count(*) = 2 FROM pgbufprobe_history($$coarse$$)', 'and another one');
	is(ask($node, qq{
		SELECT abs(c.seconds - f.seconds) < 0.05 * f.seconds, c.accesses = f.accesses, abs(c.reads - f.reads) <= 0.001 * f.reads + count_of_fine, c.looks = f.looks,
		       abs(c.passes / f.passes - 1) < 0.01
		  FROM (SELECT sum(seconds) AS seconds, sum(accesses) AS accesses, sum(accesses * miss_ratio) AS reads, sum(looks) AS looks, $passed AS passes, max(taken_at) AS until
		          FROM pgbufprobe_history('coarse')) AS c,
		       LATERAL (SELECT count(*) AS count_of_fine, sum(seconds) AS seconds, sum(accesses) AS accesses, sum(accesses * miss_ratio) AS reads, sum(looks) AS looks, $passed AS passes
		          FROM pgbufprobe_history() WHERE taken_at <= c.until) AS f}), 't|t|t|t|t', 'both have sums of the entries before');
	is(ask($node, q{SELECT top_relations[1], top_read_fractions[1] > 0.3 FROM pgbufprobe_history('coarse') ORDER BY taken_at DESC LIMIT 1}), 'pages|t',
		'and the relation with the most reads in these five minutes');
	is(ask($node, q{SELECT bool_and(f.usagecounts = c.usagecounts AND f.dirty = c.dirty) FROM pgbufprobe_history('coarse') AS c
			JOIN pgbufprobe_history() AS f USING (taken_at)}), 't', 'the pool is that of the last entry');
	my ($first, $last) = split /\|/, ask($node, q{SELECT min(taken_at), max(taken_at) FROM pgbufprobe_history('coarse')});
	# With the right time, as from now on, entries come before those.
	my $kept = "concat_ws(' ', count(*), sum(accesses)) FROM pgbufprobe_history('coarse') WHERE taken_at BETWEEN '$first' AND '$last'";
	my $entries = ask($node, "SELECT $kept");
	$node->restart;
	becomes_true($node, "(SELECT $kept) = '$entries'", 'restarted: they are there');
	$node->stop('immediate');
	$node->start;
	becomes_true($node, "(SELECT $kept) = '$entries'", 'crashed: likewise');
	# Most of them have another pool.
	$node->append_conf('postgresql.conf', "shared_buffers = 4096\n");
	$node->restart;
	becomes_true($node, "(SELECT $kept) = '$entries'", 'another size: likewise');
	ask($node, 'SELECT pgbufprobe_history_reset()');
	is(ask($node, q{SELECT count(*) FROM pgbufprobe_history('coarse')}), '0', 'a reset: there are none');
}

$node->stop;
has_no_crash($node);
done_testing();
