# FIFOs, sockets, devices, directories and dangling links among the files of relations: neither worker opens or waits for any,
# both go on with all other files, and the server stops.

use strict;
use warnings;

use CarryOver;
use Fcntl;
use PageCache qw(make_socket);
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Sampler qw(await_samples worker_pid);
use Server;
use Test::More;

my $node = carry_node('main', "pgbufprobe.history_interval = 100ms\npgbufprobe.max_cpu_fraction = 1\n")
  or plan skip_all => 'no pg_buffercache, with which the results are compared';
my $data = $node->data_dir;
my $database = "$data/base/" . ask($node, q{SELECT oid FROM pg_database WHERE datname = 'postgres'});
my @fifos;
my @writers;

# Otherwise, those who wait for the end of this test's output would wait for them, too.
END { kill 'KILL', map { $_->[0] } @writers }

sub make_fifo
{
	my ($path) = @_;
	mkfifo($path, 0600) or die "$path: $!";
	push @fifos, $path;
	return;
}

# The workers are off until all is there.
set($node, sampler => 'off', carry_over => 'off');
becomes_true($node, q{carry_over = 'off' FROM pgbufprobe_status()}, 'carry-over is off');
my $number = 4_000_000_000;
for my $suffix ('', '.1', '_fsm', '_vm.1')
{
	make_fifo("$database/" . $number++ . $suffix);
	make_socket("$database/" . $number++ . $suffix) or die $!;
	mkdir "$database/" . $number++ . $suffix or die $!;
	symlink $_, "$database/" . $number++ . $suffix or die $! for '/dev/zero', '/dev/tty', '/dev/ptmx', 'nowhere', $fifos[-1];
}
make_fifo("$data/global/" . $number++);
make_fifo("$data/base/" . $number++);
make_fifo("$data/pg_wal/" . $number++);
make_fifo("$data/pg_tblspc/" . $number++);

# A writer waits until somebody opens its FIFO for reading, if only for a moment.
@writers = map {
	my $fifo = $_;
	my $pid = fork // die $!;
	if ($pid == 0)
	{
		sysopen my $handle, $fifo, O_WRONLY;
		POSIX::_exit(0);
	}
	[ $pid, $fifo ];
} @fifos;
ok((wait_for { !grep { slurp_file("/proc/$_->[0]/stat") !~ /\) S / } @writers }), 'writers wait at each FIFO');

set($node, sampler => 'on', carry_over_interval => '1s', carry_over => 'on');
becomes_true($node, 'saved_at IS NOT NULL FROM pgbufprobe_status()', 'both caches are saved');
# Files are counted and file systems asked about between two samples.
await_samples($node, 30);
my $saved = progress($node, 'saved_at');
becomes_true($node, "saved_at > '$saved' FROM pgbufprobe_status()", 'and once more, beside the sampler');
my @released = grep { waitpid($_->[0], POSIX::WNOHANG) != 0 } @writers;
is(join(' ', map { $_->[1] } @released), '', 'nobody has opened a FIFO');

my $pid = worker_pid($node);
ok(stop_within($node, 20), 'the server stops');
ok(!kill(0, $pid), 'and so does the sampler');
# Sessions of this test may not have ended at the stop.
is_deeply([ grep { /(?:ERROR|FATAL|PANIC):/ && !/\.pl FATAL:/ } split /\n/, slurp_file($node->logfile) ], [], 'without an error');
has_no_crash($node);
done_testing();
