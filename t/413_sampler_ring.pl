# The ring of samples when it is full, and while the worker is off.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use StateFile;
use Test::More;

# ---------------------------------------------------------------------------
# A full ring, from a file that has nearly as many samples

my $size = 4320;
my $node = sampler_node('ring');
await_samples($node, 5);
$node->stop;
my $file = state_file($node);
my $saved = slurp_file($file);
my $nsamples = value_of($saved, 'nsamples[0]');
my ($second) = place_of('samples[1].taken_at');
my $sample = substr $saved, $second, (place_of('samples[2].taken_at'))[0] - $second;
my $taken_at = value_of($saved, 'samples[1].taken_at');
my $added = $size - 3 - $nsamples;
my $samples_before = join '', map { pack('q', $taken_at - 1e6 * $_) . substr $sample, 8 } reverse 1 .. $added;
my $others = substr $saved, $second, ($nsamples - 1) * length $sample;
substr $saved, $second, length $samples_before . $others, $samples_before . $others;
replace_file($file, with_values($saved, 'nsamples[0]' => $nsamples + $added));
$node->start;
becomes_true($node, "count(*) = $size AND min(taken_at) >= to_timestamp(946684800 + " . ($taken_at / 1e6) . " - $added + 20) FROM pgbufprobe_history()",
	'a full ring: new samples take the place of the oldest ones');
is( ask($node, "SELECT count(*), array_agg(taken_at) = array_agg(taken_at ORDER BY taken_at) FROM pgbufprobe_history()"),
	"$size|t", 'it has as many as it was made for, oldest first');
stop_sampler($node);
ask($node, 'SELECT pgbufprobe_history_reset()');
is(ask($node, "SELECT $samples"), 0, 'reset: a full ring is empty');
set($node, sampler => 'on');
becomes_true($node, "$samples >= 10", 'and fills again');
samples_are_right($node, 'a ring that was reset');
$node->stop;

# ---------------------------------------------------------------------------
# Off from the start

$node = sampler_node('off', "pgbufprobe.sampler = off\n");
becomes_true($node, "wait_event_type = 'Extension' $worker", 'off from the start: the worker waits');
is(ask($node, "SELECT $samples"), 0, 'off from the start: no sample was ever taken');
knows_nothing($node, 'sampler is off', 'off from the start');
set($node, sampler => 'on');
await_samples($node, 3);
samples_are_right($node, 'off from the start, then on');
$node->stop;

done_testing();
