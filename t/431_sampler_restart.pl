# The way from a stock server to the size that was advised: the checkup's statements are pasted into a new session, the
# server is restarted once, with warm caches, and the prediction is checked. A started sampler on a standby.

use strict;
use warnings;

use Checkup;
use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use Test::More;

# Without the page cache, a larger pool is advised, since nobody knows which reads wait.
my $settings = qq(
shared_buffers = $pool
max_connections = 20
pgbufprobe.history_interval = 100ms
pgbufprobe.max_cpu_fraction = 1
pgbufprobe.advice_memory = 256kB
pgbufprobe.os_cache = off
);
my $node = init_server('stock', $settings, allows_streaming => 1);
$node->start;
my $has_prewarm = create_if_available($node, 'pg_prewarm');
ask($node, 'CREATE EXTENSION pgbufprobe');
make_pages($node);

# ---------------------------------------------------------------------------
# A standby

my $standby = init_standby($node);
$standby->start;
$node->wait_for_catchup($standby);
like(ask($standby, 'SELECT pgbufprobe_start()'), qr/^The sampler runs/, 'a standby: started');
await_samples($standby, 2);
like(ask($standby, 'SELECT pgbufprobe_stop()'), qr/^The sampler has stopped/, 'a standby: stopped');
$standby->stop;

# ---------------------------------------------------------------------------
# The statements

my $version = $node->pg_version->major;
my $load = $version < 17 ? "LOAD 'pgbufprobe';\n" : '';
my $port = $node->port;
my $statements = qr/
	^--\ Check\ with\ pgbufprobe_read_cost\(\).*\n--.*\n
	\Q$load\EALTER\ SYSTEM\ SET\ shared_buffers\ =\ '(\w+)';\n
	(?:ALTER\ SYSTEM\ SET\ shared_preload_libraries\ =\ (.*);\n)?
	ALTER\ SYSTEM\ SET\ pgbufprobe\.carry_over\ =\ on;\n
	SELECT\ pg_reload_conf\(\);\n
	--\ Then\ restart\ the\ server\ on\ port\ $port\.$/x;

# Waits for an action: while the load is light for a moment, there is none.
sub action_like
{
	my ($pattern, $what, $role) = @_;
	my $action;

	ok(wait_for { ($action = as_role($node, $role // 'NONE', q{SELECT action FROM pgbufprobe_checkup() WHERE topic = 'size'})) =~ $pattern }, $what)
	  or diag($action);
	return $action;
}

ask($node, 'SELECT pgbufprobe_start()');
ask($node, 'CREATE ROLE watcher IN ROLE pg_monitor');
ok(load_until($node, 20, sub { checkup($node)->{size}{says} =~ /^consider TAKE_READS / }),
	'a larger pool is advised, without a restart');
# The restart ends it.
my $bench = start_pgbench($node, 'load', 600, '-f', write_script($node, 'load', "CALL load(1);\n"));
action_like($statements, 'the action is statements to paste');
action_like(qr/SET shared_preload_libraries = 'pgbufprobe';/, 'our library alone');

# What a file has counts, although the server has not been restarted since.
$node->append_conf('postgresql.conf', q{shared_preload_libraries = '"$libdir/auto explain", pg_stat_statements'});
action_like(qr/SET shared_preload_libraries = '\$libdir\/auto explain', 'pg_stat_statements', 'pgbufprobe';/, 'other libraries are kept, each in its own quotes');
ask($node, q{ALTER SYSTEM SET shared_preload_libraries = 'a', 'pgbufprobe'});
unlike(action_like($statements, 'ours is there'), qr/shared_preload_libraries/, 'ours is there: nothing to add');
ask($node, 'ALTER SYSTEM RESET shared_preload_libraries');
$node->append_conf('postgresql.conf', 'shared_preload_libraries = ' . ($has_prewarm ? 'pg_prewarm' : "''"));

my $names = qr/set shared_buffers to \w+, add pgbufprobe to shared_preload_libraries, set pgbufprobe\.carry_over to on, and restart the server\.$/;
action_like(qr/\nIn the configuration, $names/, 'who may not see the files gets the names of the settings', 'watcher');
SKIP:
{
	skip 'before 17, ALTER SYSTEM is always allowed', 1 if $version < 17;
	$node->append_conf('postgresql.conf', 'allow_alter_system = off');
	$node->reload;
	action_like(qr/\nIn the manager of this server, $names/, 'ALTER SYSTEM is not allowed: so does everybody');
	$node->append_conf('postgresql.conf', 'allow_alter_system = on');
	$node->reload;
}

# ---------------------------------------------------------------------------
# Pasted, and restarted

my $lines = action_like($statements, 'statements again');
my ($size) = $lines =~ $statements;
my ($out, $messages, $status) = answer_and_messages($node, $lines);
is("$status $messages", '0 ', 'pasted into a new session, they raise nothing') or diag($lines);
becomes_true($node, "count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'pgbufprobe carry-over'", 'the worker that saves both caches runs at once');
$node->restart;
is(ask($node, 'SHOW shared_buffers'), $size, 'restarted with the advised size');
is(ask($node, 'SHOW shared_preload_libraries'), $has_prewarm ? 'pg_prewarm, pgbufprobe' : 'pgbufprobe', 'with each library');
becomes_true($node, "sampler = 'running' AND preloaded FROM pgbufprobe_status()", 'the sampler has started with the server');
becomes_true($node, "carry_over = 'done' AND restored_fraction = 1 FROM pgbufprobe_status()", 'and both caches were carried over');
cmp_ok(ask($node, q{SELECT sum(buffers) FROM pgbufprobe_relations() WHERE relation = 'pages'::regclass}), '>', $pool / 2, 'so the pool is warm');
becomes_true($node, "count(*) = 1 FROM pgbufprobe_predictions() WHERE from_bytes = $pool * 8192", 'what the size would do was predicted');
has_error($node, 'SELECT pgbufprobe_stop()',
	qr/55000: cannot stop a sampler that starts with the server\nDETAIL:  pgbufprobe is in shared_preload_libraries\.\nHINT:  Set pgbufprobe\.sampler to off/,
	'a preloaded sampler cannot be stopped');
is(ask($node, 'SELECT pgbufprobe_start()'), 'The sampler is running already. It starts with the server.', 'and need not be started');
$node->stop;

# A setting of the command line wins over files.
$node->append_conf('postgresql.auto.conf', "shared_preload_libraries = ''\n");
PostgreSQL::Test::Utils::system_or_bail('pg_ctl', '-w', '-D', $node->data_dir, '-l', $node->logfile, '-o', "-c shared_buffers=$pool", 'start');
$node->_update_pid(1);
ask($node, 'SELECT pgbufprobe_start()');
ok(load_until($node, 20, qq{action ~ '\nIn the command line, set shared_buffers to ' FROM pgbufprobe_checkup() WHERE topic = 'size'}),
	'a size of the command line is named');
$node->stop;

has_no_crash($_) for $node, $standby;
done_testing();
