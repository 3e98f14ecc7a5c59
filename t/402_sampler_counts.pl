# The server's counts reach the advice as soon as they are published. Where they do not, the advice says so and gives
# no figures.

use strict;
use warnings;

use Sampler;
use Server;
use Test::More;

my $today = 'FROM pgbufprobe_advice(), pgbufprobe_status() WHERE size_factor = 1';
my $unknown = q{coalesce(miss_ratio IS NULL AND self_error IS NULL
	AND (note LIKE 'more pages are loaded than%' OR note LIKE 'reads are not counted%'), false)};
my $known = 'coalesce(miss_ratio > 0.05 AND abs(self_error) < 1.5, false)';

# Sessions publish what they have read ten seconds later at most.
my $soon = 20;

# Reads random pages in one transaction, which stays open, without leaving the hand still for long.
sub read_in_one_transaction
{
	my ($session) = @_;
	$session->query_safe(qq{
		BEGIN;
		SET LOCAL enable_seqscan = off;
		SET LOCAL enable_bitmapscan = off;
		DO \$\$
		DECLARE
			start bigint := $ticks;
			some_id int;
		BEGIN
			WHILE $ticks < start + 8 * $pool LOOP
				FOR i IN 1..$pool / 16 LOOP
					some_id := 1 + floor(random() * 3 * $pool);
					PERFORM length(page) FROM pages WHERE id = some_id;
				END LOOP;
				PERFORM pg_sleep(0.02);
			END LOOP;
		END \$\$});
}

# ---------------------------------------------------------------------------
# A long transaction

# Scans come only by the hand, and none when it has stopped.
my $node = sampler_node('main');
make_pages($node);
ask($node, 'VACUUM pages');
ask($node, 'CHECKPOINT');
set($node, history_interval => '1h');
my $session = $node->background_psql('postgres', on_error_stop => 1);
$session->set_query_timer_restart;
my ($is_unknown, $others, $is_known);
# A worker that had to wait for a processor meanwhile has lost what it knew, and may not have seen a pass of the hand since.
for (1 .. 5)
{
	ask($node, 'SELECT pgbufprobe_history_reset()');
	read_in_one_transaction($session);
	$is_unknown = comes_true($node, $soon, "$unknown $today");
	$others = ask($node, q{SELECT count(*) FROM pgbufprobe_advice() WHERE miss_ratio IS NOT NULL OR note IS NULL});
	# In a session that has been there: a new one moves the hand, and so brings a scan.
	$session->query_safe('COMMIT');
	$is_known = within($soon, sub { $session->query_safe("SELECT $known $today") eq 't' });
	last if $is_unknown && $is_known;
}
ok($is_unknown, 'a long transaction: the miss ratio is unknown until it publishes its reads, and why');
is($others, '0', 'a long transaction: that of all sizes');
ok($is_known, 'a long transaction: it is known from when the transaction has ended, without a scan');
$session->quit;
$node->stop;

# ---------------------------------------------------------------------------
# New pages, which are not read

# As many new pages as reads: of new pages alone all usage counts are the same, and the hand passes all at once.
$node = sampler_node('new');
make_pages($node);
ask($node, 'CREATE TABLE filled (LIKE pages INCLUDING STORAGE)');
my $fill_and_read = q{
	DO $$
	DECLARE
		some_id int;
	BEGIN
		SET LOCAL enable_seqscan = off;
		SET LOCAL enable_bitmapscan = off;
		INSERT INTO filled SELECT i, repeat('x', 5000) FROM generate_series(1, 32) i;
		FOR i IN 1..32 LOOP
			some_id := 1 + floor(random() * } . 3 * $pool . q{);
			PERFORM length(page) FROM pages WHERE id = some_id;
		END LOOP;
		PERFORM pg_sleep(0.01);
	END $$;};
# A worker that had to wait for a processor may have lost some loads, which later ones outweigh.
my $agrees = "coalesce(miss_ratio IS NOT NULL AND abs(self_error) < 0.5, false) $today";
for (1 .. 5)
{
	ask($node, $fill_and_read x 500);
	last if comes_true($node, $soon, $agrees);
}
becomes_true($node, $agrees, 'INSERT: new pages are not taken for uncounted reads');
$node->stop;

# ---------------------------------------------------------------------------
# Nothing is counted

SKIP:
{
	$node = sampler_node('uncounted', "track_counts = off\n");
	skip 'from 16 on reads are counted whatever track_counts is', 1
	  if $node->pg_version->major >= 16;
	make_pages($node);
	ok(load_until($node, 8, "coalesce(note LIKE 'reads are not counted; track_counts is off%', false) $today"),
		'track_counts off: the advice says so');
}
$node->stop;

done_testing();
