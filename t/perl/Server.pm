# Starts servers, fills them, asks them, loads them, and waits for them.

package Server;

use strict;
use warnings;

use Cwd;
use Exporter 'import';
use File::Spec;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Programs;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(
  $no_background_writes $by_index
  init_server start_server init_standby start_with temp_path put_file replace_file start_through stop_within can_upgrade upgrades_ok
  create_if_available keyed_pages pin_pages write_script
  ask set becomes_true answer_and_messages as_role has_error
  start_psql has_ended start_pgbench finish_pgbench drop_database
  wait_for within comes_true poll_through_crash logs has_no_crash bytes_read processor_seconds open_files
);

# Only sessions write pages.
our $no_background_writes = "bgwriter_lru_maxpages = 0\ncheckpoint_timeout = 1h";

# A sequential scan of a large table would go through a ring of few buffers.
our $by_index = "SET enable_seqscan = off;\nSET enable_bitmapscan = off;\n";

my $timeout = $PostgreSQL::Test::Utils::timeout_default;

# ---------------------------------------------------------------------------
# Started

# As from 17 on: copies the cluster that scripts/test has made, unless initdb gets options of its own, or the cluster must
# have an identifier of its own.
sub init_or_copy
{
	my ($node, %init_options) = @_;
	my $run = \&PostgreSQL::Test::Utils::system_or_bail;

	no warnings 'redefine';
	local *PostgreSQL::Test::Utils::system_or_bail = sub {
		return $run->($_[0] eq 'initdb' ? ('cp', '-RPp', $ENV{INITDB_TEMPLATE}, $node->data_dir) : @_);
	} if $ENV{INITDB_TEMPLATE} && $node->pg_version < 17 && !$init_options{force_initdb} && !$init_options{extra};
	$node->init(%init_options);
	return;
}

# A server with these settings, not yet started.
sub init_server
{
	my ($name, $conf, %init_options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	init_or_copy($node, %init_options);
	$node->append_conf('postgresql.conf', "autovacuum = off\n" . ($conf // ''));
	return $node;
}

sub start_server
{
	my $node = init_server(@_);

	$node->start;
	return $node;
}

# A standby with the settings of its primary, not yet started.
sub init_standby
{
	my ($primary) = @_;
	my $standby = PostgreSQL::Test::Cluster->new('standby');

	$primary->backup('backup');
	$standby->init_from_backup($primary, 'backup', has_streaming => 1);
	return $standby;
}

# Changes settings of the extension by a reload.
sub set
{
	my ($node, %settings) = @_;
	ask($node, "ALTER SYSTEM SET pgbufprobe.$_ = '$settings{$_}'") for sort keys %settings;
	$node->reload;
	return;
}

# Starts a server in an environment with these variables, which t/tools/switches.c or faults.c, preloaded, reads.
sub start_with
{
	my ($node, %variables) = @_;
	local @ENV{ keys %variables } = values %variables;
	local $ENV{LD_PRELOAD} = build_library($variables{FAULTS} ? 'faults' : 'switches');

	$node->start;
	return;
}

# The path of a file for a server to read, which there is not yet.
sub temp_path { return File::Spec->rel2abs(PostgreSQL::Test::Utils::tempdir()) . "/$_[0]" }

# At no moment, such a file has anything else in it, or is missing.
sub put_file
{
	my ($path, $content) = @_;

	append_to_file("$path.new", $content);
	rename "$path.new", $path or die "$path: $!";
	return;
}

# Puts a file of the server in place of what is there.
sub replace_file
{
	my ($path, $content) = @_;

	-d $path ? rmdir $path : unlink $path;
	append_to_file($path, $content);
	chmod 0600, $path or die "$path: $!";
	return;
}

# Starts a server by a program that sets up its process, such as a filter on system calls, and runs the rest of its
# command line.
sub start_through
{
	my ($node, @launcher) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir_short();
	my ($pg_ctl) = grep { -x } map { "$_/pg_ctl" } split /:/, $ENV{PATH};
	my $command = join ' ', map { "'$_'" } @launcher, $pg_ctl;

	append_to_file("$directory/pg_ctl", qq{#!/bin/sh\nexec $command "\$@"\n});
	chmod 0755, "$directory/pg_ctl" or die $!;
	local $ENV{PATH} = "$directory:$ENV{PATH}";
	$node->start;
	return;
}

# Stops a server; false if that takes longer.
sub stop_within
{
	my ($node, $seconds) = @_;
	my $status = system('pg_ctl', '--silent', '--wait', "--timeout=$seconds", '--mode=fast', '--pgdata=' . $node->data_dir, 'stop');

	$node->_update_pid(0);
	return $status == 0;
}

# 18 knows other folders for extensions, but its pg_upgrade does not.
sub can_upgrade
{
	my ($node) = @_;
	return $node->pg_version->major != 18 || -e $node->config_data('--pkglibdir') . '/pgbufprobe.so';
}

# Carries a stopped server over to a new one of the same major version.
sub upgrades_ok
{
	my ($old, $new) = @_;
	my ($old_data, $new_data) = map { File::Spec->rel2abs($_->data_dir) } $old, $new;
	my $bin = $old->config_data('--bindir');
	my $here = getcwd();

	# It leaves scripts where it was called.
	chdir $PostgreSQL::Test::Utils::tmp_check or die "could not go there: $!";
	command_ok(
		[
			'pg_upgrade', '--no-sync', '-b', $bin, '-B', $bin, '-d', $old_data, '-D', $new_data,
			'-s', $old->host, '-p', $old->port, '-P', $new->port
		],
		'pg_upgrade carries the server over');
	chdir $here or die "could not go back: $!";
	return;
}

# ---------------------------------------------------------------------------
# Filled

# Creates an extension; false if this installation does not have it.
sub create_if_available
{
	my ($node, $extension) = @_;

	return 0
	  if ask($node, "SELECT count(*) FROM pg_available_extensions WHERE name = '$extension'") == 0;
	ask($node, "CREATE EXTENSION IF NOT EXISTS $extension");
	return 1;
}

# The commands for a table of one row a page, to be read by its key.
sub keyed_pages
{
	my ($table, $rows, $kind) = @_;
	$kind //= '';

	return qq{
CREATE $kind TABLE $table (id integer PRIMARY KEY, page text);
ALTER TABLE $table ALTER page SET STORAGE PLAIN;
INSERT INTO $table SELECT i, repeat('x', 5000) FROM generate_series(1, $rows) i;
};
}

# The commands that pin so many of the first pages of a table "pages": each cursor stands on a row of another one.
sub pin_pages
{
	my ($npages) = @_;
	return join '', map { "DECLARE c$_ CURSOR FOR SELECT ctid FROM pages WHERE ctid = '($_,1)';\nMOVE 1 FROM c$_;\n" } 0 .. $npages - 1;
}

# Writes a file for psql or pgbench; returns its path.
sub write_script
{
	my ($node, $name, $content) = @_;
	my $path = $node->basedir . "/$name.sql";

	append_to_file($path, $content);
	return $path;
}

# ---------------------------------------------------------------------------
# Asked

# The answer to a query, in the database postgres, and by its superuser, unless it is said otherwise.
sub ask
{
	my ($node, $query, $database, $user) = @_;
	return $node->safe_psql($database // 'postgres', $query, $user ? (extra_params => [ '-U', $user ]) : ());
}

# What a new session prints, what messages it gets beside that with their SQLSTATEs, and psql's exit status.
sub answer_and_messages
{
	my ($node, $query, %options) = @_;
	my $database = delete $options{database} // 'postgres';
	my ($status, $out, $messages) = $node->psql($database, "\\set VERBOSITY verbose\n$query", %options);

	$messages =~ s/^psql:<stdin>:\d+: //mg;
	return ($out, join("\n", grep { !/^LOCATION/ } split /\n/, $messages), $status);
}

# What a role gets for a query: the answer, or the error.
sub as_role
{
	my ($node, $role, $query) = @_;
	my ($out, $messages, $status) = answer_and_messages($node, "SET ROLE $role;\n$query;");
	return $status == 0 ? $out : $messages;
}

# That a query fails with this SQLSTATE and message.
sub has_error
{
	my ($node, $query, $error, $what, $database) = @_;
	my ($out, $messages) = answer_and_messages($node, "$query;", database => $database // 'postgres');
	return like($messages, qr/ERROR:  $error/, $what);
}

# Starts psql with these arguments, in a session of this application_name. It ends by $session->{run}->finish.
sub start_psql
{
	my ($node, $name, @arguments) = @_;
	my $session = { name => $name, out => '', err => '' };

	$session->{run} = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres') . " application_name=$name", @arguments ],
		'>', \$session->{out},
		'2>', \$session->{err},
		IPC::Run::timeout($timeout));
	return $session;
}

sub has_ended
{
	my ($session) = @_;
	$session->{run}->pump_nb if $session->{run}->pumpable;
	return !$session->{run}->pumpable;
}

# As start_psql() with pgbench, for so many seconds.
sub start_pgbench
{
	my ($node, $name, $seconds, @arguments) = @_;
	my $run = { name => $name, out => '' };

	$run->{run} = IPC::Run::start(
		[ 'pgbench', '-n', '-T', $seconds, @arguments, $node->connstr('postgres') . " application_name=$name" ],
		'>', \$run->{out},
		'2>&1', IPC::Run::timeout($timeout + $seconds));
	return $run;
}

# Waits for pgbench to end, and tests that no error ended it. Returns its transactions, or nothing after an error.
sub finish_pgbench
{
	my ($run) = @_;

	return $run->{out} =~ /actually processed: (\d+)/ ? $1 : 0
	  if ok($run->{run}->finish, "$run->{name}: no client was aborted");
	diag($run->{out});
	return;
}

# ---------------------------------------------------------------------------
# Awaited

# Repeats a block until it is true. False if that takes too long.
sub wait_for(&)
{
	my ($condition) = @_;

	for (1 .. 10 * $timeout)
	{
		return 1 if $condition->();
		usleep(100_000);
	}
	return 0;
}

# Repeats a function until it is true, or so many seconds of the clock have passed.
sub within
{
	my ($seconds, $condition) = @_;
	my $until = time + $seconds;

	do
	{
		return 1 if $condition->();
		usleep(100_000);
	} while time < $until;
	return 0;
}

# A session of before may take its time to end.
sub drop_database
{
	my ($node, $database) = @_;
	wait_for { $node->psql('postgres', "DROP DATABASE $database") == 0 } or die "could not drop $database";
	return;
}

# Whether this becomes true within some seconds.
sub comes_true
{
	my ($node, $seconds, $query) = @_;
	return within($seconds, sub { ask($node, "SELECT $query") eq 't' });
}

sub becomes_true
{
	my ($node, $query, $what) = @_;
	return ok($node->poll_query_until('postgres', "SELECT $query"), $what);
}

# Repeats a query while the server recovers from a crash. poll_query_until() passes its query to psql as a
# file, and IPC::Run dies if psql ends before it has read that, because there is no server.
sub poll_through_crash
{
	my ($node, $query) = @_;
	my ($out, $err);

	return wait_for
	{
		IPC::Run::run([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', $query ], '<', \undef, '>', \$out, '2>', \$err);
		return $out =~ /^t$/;
	};
}

# Waits until the server has logged this since an earlier position in its log.
sub logs
{
	my ($node, $from, $line, $what) = @_;
	return ok(wait_for { slurp_file($node->logfile, $from) =~ $line }, $what);
}

sub has_no_crash
{
	my ($node, $what) = @_;
	return unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal/, $what // 'no process has crashed');
}

# ---------------------------------------------------------------------------
# What the kernel knows of a process

# Bytes that it has read, files of /proc included; nothing where the kernel does not count them.
sub bytes_read { return -r "/proc/$_[0]/io" ? slurp_file("/proc/$_[0]/io") =~ /^rchar: (\d+)/m : () }

# Its processor time, to the nanosecond; 0 where the kernel does not count that.
sub processor_seconds { return -r "/proc/$_[0]/schedstat" ? (split ' ', slurp_file("/proc/$_[0]/schedstat"))[0] / 1e9 : 0 }

sub open_files { return sort grep { defined } map { readlink } glob "/proc/$_[0]/fd/*" }

1;
