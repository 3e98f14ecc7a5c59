# A block that moves to another buffer during a scan of the descriptors may be found in both, and must count once.
# Two sessions dirty all pages of a table that is larger than the pool. Another asks what is in the pool and is
# stopped at random moments, so that blocks move in the middle of its scans.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time usleep);

my $pool = 1024;
my $pages = 1536;
my $writers = 2;
my $stops = 150;

my $node = start_server(
	'main', "$no_background_writes\n" . qq(
shared_buffers = $pool
max_wal_size = 10GB
full_page_writes = off
synchronous_commit = off
log_statement = none
));

# A row for each writer in each page: to lock it makes the page dirty, and no larger.
ask($node, qq(
CREATE EXTENSION pgbufprobe;
CREATE TABLE moving (writer integer, filler text);
ALTER TABLE moving ALTER filler SET STORAGE PLAIN;
INSERT INTO moving SELECT w, repeat('x', current_setting('block_size')::integer / ($writers + 1))
	FROM generate_series(1, $pages), generate_series(1, $writers) w;
CREATE TABLE said (scans bigint, shared bigint, cached bigint, broken bigint);

CREATE PROCEDURE write_pages(slot integer) LANGUAGE plpgsql AS \$\$
DECLARE
	place tid;
BEGIN
	LOOP
		FOR i IN 1 .. 50 LOOP
			place := format('(%s,%s)', floor(random() * $pages), slot);
			PERFORM FROM moving WHERE ctid = place FOR UPDATE;
		END LOOP;
		COMMIT;
	END LOOP;
END \$\$;

-- Until the advisory lock is taken.
CREATE PROCEDURE ask() LANGUAGE plpgsql AS \$\$
BEGIN
	WHILE pg_try_advisory_xact_lock(1) LOOP
		INSERT INTO said
		SELECT count(*), sum(shared_blocks), count(*) FILTER (WHERE os_blocks = blocks),
			   count(*) FILTER (WHERE os_blocks = blocks AND both_blocks <> shared_blocks)
		  FROM generate_series(1, 500) n, pgbufprobe_residency(CASE WHEN n > 0 THEN 'moving'::regclass END)
		 WHERE fork = 'main';
		COMMIT;
	END LOOP;
END \$\$;
));
is(ask($node, "SELECT pg_relation_size('moving') / current_setting('block_size')::integer"),
	$pages, 'the table is larger than the pool');

sub start { return start_psql($node, 'moving', '-c', $_[0]) }

my @writers = map { start("CALL write_pages($_)") } 1 .. $writers;
my $asking = start('CALL ask()');
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity
	WHERE application_name = 'moving' AND query = 'CALL ask()' AND now() - backend_start > '1 s'}) or die 'nobody asks';
my $pid = ask($node, q{SELECT pid FROM pg_stat_activity
	WHERE application_name = 'moving' AND query = 'CALL ask()'});

# While it is stopped, the writers replace a part of the pool.
my $end = time + $PostgreSQL::Test::Utils::timeout_default / 4;
my $stopped = 0;
while ($stopped < $stops && time < $end)
{
	usleep(int rand 5000);
	kill STOP => $pid or die $!;
	usleep(30_000);
	kill CONT => $pid or die $!;
	$stopped++;
}
note("stopped $stopped times");

my $locking = $node->background_psql('postgres');
$locking->query_safe('SELECT pg_advisory_lock(1)');
$asking->{run}->finish;
is("$asking->{out}$asking->{err}", '', 'it was asked to the end');
$locking->quit;
ask($node, q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'moving'});
for my $writer (@writers)
{
	$writer->{run}->finish;
	like($writer->{err}, qr/\A.*terminating connection due to administrator command/, 'a writer wrote to the end');
}

my ($shared, $cached, $broken) = split /\|/, ask($node, 'SELECT sum(shared) / sum(scans), sum(cached), sum(broken) FROM said');
note("$cached scans, with $shared blocks in the pool on average");
cmp_ok($cached, '>', $stopped, 'it was asked many times with all blocks in the page cache');
cmp_ok($shared, '>', $pool / 2, 'when they took most of the pool');
is($broken, 0, 'all blocks in the pool are in both caches, and count once');

$node->stop;
has_no_crash($node);

done_testing();
