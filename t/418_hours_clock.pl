# Hours follow the wall clock, and those of some times of the day do not count for a decision.

use strict;
use warnings;

use Checkup;
use PostgreSQL::Test::Utils;
use Sampler;
use Server;
use Test::More;

my $shift = temp_path('seconds');
my $node = sampler_node('main', "track_io_timing = on\ntimezone = 'UTC'\nlog_timezone = 'UTC'\n", SHIFT_CLOCK => $shift);

# Puts the clock of the server forward by as many seconds in all; 0 puts it right.
sub shift_clock { return put_file($shift, $_[0]) }

# The clock goes on as it is.
sub start_again
{
	my ($mode) = @_;

	$node->stop($mode);
	start_with($node, SHIFT_CLOCK => $shift);
	return;
}

# As where a library cannot be preloaded.
sub can_shift
{
	my $before = ask($node, 'SELECT now()');
	shift_clock(36000);
	my $can = ask($node, "SELECT now() > '$before'::timestamptz + interval '9 hours'") eq 't';
	shift_clock(0);
	return $can;
}

# The worker may have seen the hour of that time.
my $can_shift = can_shift();
ask($node, 'SELECT pgbufprobe_history_reset()');

make_pages($node);
ask($node, 'CALL load(4)');
becomes_true($node, 'min(seconds) > 0 FROM pgbufprobe_hours()', 'there is an hour');

# ---------------------------------------------------------------------------
# Hours that do not count

my $hour = ask($node, 'SELECT extract(hour FROM max(hour))::int FROM pgbufprobe_hours()');
my $next = ($hour + 1) % 24;
my $next_but_one = ($hour + 2) % 24;
for my $case ([ "$hour-$next", 'f' ], [ "$next-$next_but_one", 't' ], [ "$next - $next_but_one, $hour-$next", 'f' ], [ "$next-$hour", 't' ], [ '', 't' ])
{
	my ($list, $expected) = @$case;
	set($node, decision_skip_hours => $list);
	becomes_true($node, "in_decision = '$expected' FROM pgbufprobe_hours() WHERE extract(hour FROM hour) = $hour ORDER BY hour DESC LIMIT 1",
		"hours \"$list\" are left out: hour $hour " . ($expected eq 't' ? 'counts' : 'does not'));
}
for my $list ('2', '2-', '2-25', '3-3', '0-24', '2-5,', '2-5 7-8', '-1-3', 'night', '0-12, 12-24')
{
	has_error($node, "ALTER SYSTEM SET pgbufprobe.decision_skip_hours = '$list'", qr/22023: invalid value for parameter "pgbufprobe.decision_skip_hours": "\Q$list\E"/,
		"hours \"$list\" are no list");
}
set($node, decision_skip_hours => "$hour-$next");
ask($node, q{ALTER SYSTEM SET log_timezone = 'Etc/GMT-1'});
$node->reload;
becomes_true($node, "in_decision FROM pgbufprobe_hours() WHERE extract(hour FROM hour) = $hour ORDER BY hour DESC LIMIT 1",
	'hours are those of log_timezone');
ask($node, q{ALTER SYSTEM RESET log_timezone});
set($node, decision_skip_hours => '');

# ---------------------------------------------------------------------------
# The wall clock

SKIP:
{
	skip 'the clock of this server cannot be shifted', 38 if !$can_shift;
	# So that no hour of the clock ends but those that the test lets end.
	my $begins = 3601 - time % 3600;
	shift_clock($begins);
	becomes_true($node, 'max(hour) > now() - interval $$10 minutes$$ FROM pgbufprobe_hours()', 'an hour has just begun');
	my ($n, $newest) = split /\|/, ask($node, 'SELECT count(*), max(hour) FROM pgbufprobe_hours()');
	shift_clock($begins + 3600);
	becomes_true($node, "count(*) = $n + 1 AND max(hour) = '$newest'::timestamptz + interval '1 hour' FROM pgbufprobe_hours()", 'an hour later: another one');
	my $of_newest = "FROM pgbufprobe_hours() WHERE hour = '$newest'";
	my $before = ask($node, "SELECT seconds, read_ms_per_second $of_newest");
	ask($node, 'CALL load(2)');
	becomes_true($node, "read_ms_per_second > 0 FROM pgbufprobe_hours() ORDER BY hour DESC LIMIT 1", 'which has what happens now');
	is(ask($node, "SELECT seconds, read_ms_per_second $of_newest"), $before, 'and the one before remains as it is');

	my $week = 7 * 24 * 3600;
	shift_clock($begins + $week);
	becomes_true($node, "count(*) = $n + 2 FROM pgbufprobe_hours()", 'a week later: all are there');
	shift_clock($begins + $week + 2 * 24 * 3600);
	becomes_true($node, "count(*) = 2 AND min(hour) > '$newest'::timestamptz + interval '6 days' FROM pgbufprobe_hours()", 'after nine days: those of the last eight');
	shift_clock($begins + $week + 7200);
	becomes_true($node, "count(*) = $n + 3 AND max(hour) < '$newest'::timestamptz + interval '8 days' FROM pgbufprobe_hours()",
		'the clock is put back: all are there, but no hour of the future');
	shift_clock($begins + $week);
	my $that = "FROM pgbufprobe_hours() WHERE hour = '$newest'::timestamptz + interval '7 days'";
	my $seconds = ask($node, "SELECT seconds $that");
	becomes_true($node, "seconds > $seconds $that", 'by two hours: the hour of that time goes on');
	is(ask($node, "SELECT max(hour) = '$newest'::timestamptz + interval '7 days' FROM pgbufprobe_hours()"), 't', 'as the last one');

	# Nothing is lost by a clock that is wrong for a while, and all is saved.
	my $now = time;
	my %wrong = ('1970' => 86400 - $now, '1996' => 820454400 - $now, '400 days later' => $begins + 400 * 86400, '2245' => 8678275200 - $now);
	for my $when (sort keys %wrong)
	{
		my $from = -s $node->logfile;
		my $had = ask($node, 'SELECT sum(seconds) FROM pgbufprobe_hours()');
		shift_clock($wrong{$when});
		becomes_true($node, 'count(*) = 1 AND min(hour) <= now() FROM pgbufprobe_hours()', "$when: its hour is the only one of that time");
		if ($when eq '1970')
		{
			start_again('fast');
			becomes_true($node, 'count(*) > 0 FROM pgbufprobe_history() WHERE taken_at > pg_postmaster_start_time()', "$when: started then");
		}
		shift_clock($begins + $week);
		becomes_true($node, "count(*) = $n + 2 AND sum(seconds) > $had FROM pgbufprobe_hours()", "$when, and corrected: all hours are there");
		ok(save_history($node), "$when, and corrected: all is saved");
		start_again('immediate');
		becomes_true($node, "count(*) = $n + 2 AND sum(seconds) > $had FROM pgbufprobe_hours()", "$when, and corrected: restored");
		cmp_ok(ask($node, q{SELECT count(DISTINCT date_trunc('hour', taken_at)) FROM pgbufprobe_history()}), '>', 1, "$when, and corrected: with the history");
		unlike(slurp_file($node->logfile, $from), qr/impossible/, "$when, and corrected: without a message");
	}

	# What was watched, and when a sample was taken, is not measured by that clock.
	ask($node, 'SELECT pgbufprobe_history_reset()');
	shift_clock(3600);
	# The first one may have been taken before the clock was put back.
	becomes_true($node, 'count(*) > 2 FROM pgbufprobe_history()', 'the clock is put back: samples are taken');
	ask($node, 'SELECT pgbufprobe_history_reset()');
	await_samples($node, 2);
	shift_clock(0);
	becomes_true($node, 'sample_age_seconds BETWEEN 0 AND 60 FROM pgbufprobe_metrics_sampler', 'the clock is put back: a sample is not of the future');
	ok(load_until($node, 4, sub { checkup($node)->{size}{says} =~ /^(?!unknown)|UNSURE|UNKNOWN no other size/ }),
		'the clock is put back: the worker decides when it has watched for long enough') or diag(checkup($node)->{size}{answer});
}

$node->stop;
has_no_crash($node);
done_testing();
