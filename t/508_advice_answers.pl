# On a server: the figures of all sizes agree with each other, with both kinds of memory, with and without the page
# cache.

use strict;
use warnings;

use Sampler;
use Server;
use Test::More;

my $node = sampler_node('main', "pgbufprobe.history_interval = 1s\nautovacuum = off\n");

# ---------------------------------------------------------------------------
# Identities

# Two calls may answer from different reports, which are published once a second.
my $of_one_report = 'bool_and(f.reads_seen IS NULL OR f.reads_seen = a.reads_seen AND f.window_seconds = a.window_seconds)';
my $both = q{pgbufprobe_advice('fixed') AS f JOIN pgbufprobe_advice('added') AS a USING (size_factor)};

sub figures_agree
{
	my ($what) = @_;
	my %rules = (
		'added never has less page cache than fixed' => 'a.os_cache_bytes < f.os_cache_bytes OR a.os_cache_bytes IS NULL AND f.os_cache_bytes IS NOT NULL',
		'pool and page cache add up' => 'f.fits = $$yes$$ AND abs(f.os_cache_bytes + f.shared_buffers_bytes
			- (SELECT os_cache_bytes + shared_buffers_bytes FROM pgbufprobe_advice() WHERE size_factor = 1)) > 100e6',
		'the same misses with both' => 'f.fits = $$yes$$ AND f.estd_miss_ratio IS DISTINCT FROM a.estd_miss_ratio',
		'sizes that do not fit have figures only if memory is added' => 'f.fits NOT IN ($$yes$$, $$connections$$) AND f.estd_miss_ratio IS NOT NULL',
		'added never waits more than fixed' => 'a.estd_storage_ratio > f.estd_storage_ratio AND a.size_factor <= 4',
		'no more reads wait for storage than there are' => 'f.estd_storage_ratio > f.estd_miss_ratio OR a.estd_storage_ratio > a.estd_miss_ratio',
		'estimates lie within their intervals' => 'NOT (f.estd_miss_ratio BETWEEN f.miss_ratio_low AND f.miss_ratio_high
			AND coalesce(f.estd_storage_ratio BETWEEN f.storage_ratio_low AND f.storage_ratio_high, true))',
		'a note where a figure is missing' => 'f.note IS NULL AND num_nulls(f.estd_miss_ratio, f.estd_storage_ratio, f.estd_read_ms_per_second) > 0',
		'what is about all sizes is said of todays' => 'f.note LIKE $$%all sizes: %$$ AND f.size_factor <> 1',
		'no two marks of a kind' => '(SELECT max(n) > 1 FROM (SELECT count(*) AS n FROM pgbufprobe_advice() GROUP BY mark HAVING mark IS NOT NULL) AS m)');

	for my $rule (sort keys %rules)
	{
		becomes_true($node, "$of_one_report AND count(*) FILTER (WHERE $rules{$rule}) = 0 AND count(*) >= 11 FROM $both", "$what: $rule");
	}
	becomes_true($node, q{coalesce(bool_and(fewer >= more), true) FROM (SELECT estd_miss_ratio AS more, lag(estd_miss_ratio)
		OVER (ORDER BY size_factor) AS fewer FROM pgbufprobe_advice('added')) AS f}, "$what: no larger size misses more");
	is(ask($node, q{SELECT string_agg(mark, ',') FROM pgbufprobe_advice('added') WHERE size_factor = 1 AND mark LIKE 'today%'}) =~ /^today(, knee)?$/ ? 1 : 0,
		1, "$what: today is marked");
}

figures_agree('idle');
make_pages($node);
# Reads from storage may remain unknown: below so small a pool, few pages of a large page cache are in the sample.
ok(load_until($node, 20, 'count(estd_miss_ratio) >= 8 FROM pgbufprobe_advice()'), 'after some passes misses are known');
figures_agree('loaded');

my ($result, $out, $error) = $node->psql('postgres', q{SELECT * FROM pgbufprobe_advice('nonsense')});
like($error, qr/unrecognized memory: "nonsense"\nHINT: .*"fixed" and "added"/, 'an unknown kind of memory is an error with a hint');

# ---------------------------------------------------------------------------
# The page cache hidden and shown again

my $off = q{%storage reads are unknown, because pgbufprobe.os_cache is off};
my $first = 'FROM (SELECT * FROM pgbufprobe_checkup() LIMIT 1) AS c';
my $models = ask($node, q{SELECT count(os_cache_bytes) > 0 FROM pgbufprobe_advice()});
set($node, os_cache => 'off');
becomes_true($node, "bool_and(note LIKE '$off' OR estd_miss_ratio IS NULL) AND count(os_cache_bytes) = 0 AND count(estd_storage_ratio) = 0 FROM pgbufprobe_advice()",
	'without the page cache: no figures about it, and why');
figures_agree('without the page cache');
becomes_true($node, "key = 'size' AND (answer ~ 'It is unknown which reads wait for storage, because pgbufprobe.os_cache is off' OR answer LIKE 'Too early%') AND verdict <> 'change' $first",
	'and the decision says so, and is never certain');
set($node, os_cache => 'on');
becomes_true($node, "count(os_cache_bytes) > 0 FROM pgbufprobe_advice()", 'with it: figures again') if $models eq 't';

$node->stop;
done_testing();
