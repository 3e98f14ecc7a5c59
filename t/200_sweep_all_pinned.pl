# With every buffer pinned there is no victim: each scenario has a clear error and leaves no pin. With all but one
# pinned, each search inspects the whole pool. The pool is so small that one session can pin it.

use strict;
use warnings;

use Server;
use Test::More;

my $pool = 128;

# Nobody else may pin a buffer: nothing is written in the background, and there is no launcher of replication, which would read
# a catalog when it starts.
my $node = start_server('main', "$no_background_writes\nmax_logical_replication_workers = 0");
create_if_available($node, 'pg_buffercache') or plan skip_all => 'no pg_buffercache, which knows what is pinned';
ask($node, qq(
CREATE EXTENSION pgbufprobe;
CREATE TABLE pages (page text);
ALTER TABLE pages ALTER page SET STORAGE PLAIN;
INSERT INTO pages SELECT repeat('x', 5000) FROM generate_series(1, $pool);
VACUUM FREEZE pages;
));
$node->append_conf('postgresql.conf', "shared_buffers = $pool");
$node->restart;

sub sweep
{
	my ($victims, $scenario) = @_;
	return "SELECT scenario FROM pgbufprobe_sweep_cost($victims, '$scenario');\n";
}

my $pinned = "SELECT count(*) FROM pg_buffercache WHERE pinning_backends > 0;\n";
# Reading a catalog needs a buffer. So all that is called with the pool pinned is called before.
my $all_once = join '', $pinned, map { sweep(20, $_) } ('current', 'worst', 'live');

# All scenarios with this many buffers pinned: the output, and the errors. The cursors were opened before the savepoint and
# outlive errors. The settings are those of a sweep alone: the error that ends it undoes them.
sub all_sweeps
{
	my ($pages, $victims, $settings) = @_;
	my $sweeps = join '',
	  map { "$settings;\n" . sweep($victims, $_) . "ROLLBACK TO pinned;\n" } ('current', 'worst', 'live');
	my ($out, $err) = ('', '');

	# Any of these sweeps would take minutes if nothing stopped it.
	$node->psql(
		'postgres',
		"$all_once BEGIN; SAVEPOINT pinned; ROLLBACK TO pinned;\n"
		  . pin_pages($pages)
		  . "SAVEPOINT pinned;\n$sweeps $pinned ROLLBACK;\n$all_once",
		stdout => \$out, stderr => \$err, on_error_stop => 0, timeout => 60);
	return ($out, [ $err =~ /ERROR:  (.*)/g ]);
}

my $as_usual = "0\ncurrent\nworst\nlive\n";

my ($out, $errors) = all_sweeps($pool, 20, '');
is_deeply(
	$errors,
	[ ('no unpinned buffers available') x 3 ],
	'all pinned: each scenario says that there is no victim');
is("$out\n", "$as_usual$pool\n$as_usual",
	'all pinned: only the cursors have pinned anything, and all is well afterwards');

($out, $errors) = all_sweeps($pool - 1, 100000000, "SET LOCAL statement_timeout = '200 ms'");
is_deeply(
	$errors,
	[ ('canceling statement due to statement timeout') x 3 ],
	'all but one pinned: each scenario can be stopped');
is("$out\n", "$as_usual@{[ $pool - 1 ]}\n$as_usual",
	'all but one pinned: only the cursors have pinned anything, and all is well afterwards');

is(ask($node, 'SELECT count(*) FROM pages'), $pool, 'another session can use the pool');
has_no_crash($node);

$node->stop;
done_testing();
