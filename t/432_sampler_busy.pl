# A busy small pool, and the default limit of a hundredth of a processor: the sample becomes smaller, and figures are known and
# true. A worker that is held up for seconds loses precision, not knowledge.

use strict;
use warnings;

use Sampler;
use Server;
use Test::More;

# As fast a hand as 60,000 reads a second are on 128 MB.
my $buffers = 512;
my $npages = 4 * $buffers;
my $reads = 3000;
my $node = init_server('busy', "shared_buffers = $buffers\nmax_connections = 10\npgbufprobe.history_interval = 1s\n");
$node->start;
ask($node, 'CREATE EXTENSION pgbufprobe');
ask($node, keyed_pages('pages', $npages));

# What a pool of so many times the size would miss, of random pages: all but what it has room for beside other pages.
sub true_ratio
{
	my ($factor, $today, $other_buffers) = @_;
	my $missed = sub { 1 - ($_[0] * $buffers - $other_buffers) / $npages };
	return $today * $missed->($factor) / $missed->(1);
}

sub figures
{
	return map { my ($factor, @rest) = split /\|/; ($factor + 0, \@rest) } split /\n/,
	  ask($node, 'SELECT size_factor, miss_ratio, miss_ratio_low, miss_ratio_high FROM pgbufprobe_advice() WHERE miss_ratio IS NOT NULL');
}

my $script = write_script($node, 'lookup', "\\set id random(1, $npages)\nSELECT length(page) FROM pages WHERE id = :id;\n");
my $bench = start_pgbench($node, 'lookups', 600, '-M', 'prepared', '-R', $reads, '-f', $script);
ask($node, 'SELECT pgbufprobe_start()');
ok( wait_for { ask($node, q{SELECT count(*) FROM pgbufprobe_advice() WHERE size_factor IN (0.5, 1, 2) AND miss_ratio IS NOT NULL}) == 3 },
	'half to twice the size become known') or diag(ask($node, 'SELECT size_factor, note FROM pgbufprobe_advice()'));

my %figures = figures();
my $other_buffers = $buffers - ask($node, q{SELECT buffers FROM pgbufprobe_relations() WHERE relation = 'pages'::regclass});
# Half the pool does not hold all of the other pages.
for my $case ([ 0.5, 0.08 ], [ 2, 0.05 ])
{
	my ($factor, $tolerated) = @$case;
	my ($ratio, $low, $high) = @{ $figures{$factor} };
	my $truth = true_ratio($factor, $figures{1}[0], $other_buffers);
	note("at $factor: $ratio ($low to $high), true $truth");
	cmp_ok(abs($ratio - $truth), '<', $tolerated, "at $factor, the figure is true");
}
my $pid = worker_pid($node);
for my $seconds (1, 5)
{
	my %before = figures();
	kill 'STOP', $pid;
	# what is tested: no look in this time
	sleep $seconds;
	kill 'CONT', $pid;
	await_samples($node, 2);
	my %after = figures();
	# A quarter hardly holds the other pages, and is known at times. Four times the size just holds all, and slightly less would not.
	is(join(' ', grep { $_ >= 0.5 && $_ < 4 && !$after{$_} } sort keys %before), '', "held up for $seconds s: what was known still is")
	  or diag(ask($node, 'SELECT size_factor, note FROM pgbufprobe_advice() WHERE note IS NOT NULL'));
}
$bench->{run}->kill_kill;
$node->stop;
done_testing();
