# On a server: the figures of all sizes agree with each other, with and without the page cache.

use strict;
use warnings;

use Checkup;
use Sampler;
use Server;
use Test::More;

my $node = sampler_node('main', "pgbufprobe.history_interval = 1s\nautovacuum = off\n");

# ---------------------------------------------------------------------------
# Identities

sub figures_agree
{
	my ($what) = @_;
	my %rules = (
		'pool and page cache add up' => 'f.fits = $$yes$$ AND abs(f.os_cache_bytes + f.shared_buffers_bytes
			- (SELECT os_cache_bytes + shared_buffers_bytes FROM pgbufprobe_advice() WHERE size_factor = 1)) > 100e6',
		'sizes that leave no page cache have no figures' => 'f.fits IN ($$machine$$, $$cgroup$$) AND f.os_cache_bytes IS NULL
			AND f.miss_ratio IS NOT NULL',
		'sizes that leave too little have a note' => 'f.fits IN ($$machine$$, $$cgroup$$) AND f.note IS NULL',
		'no more reads wait for storage than there are' => 'f.storage_ratio > f.miss_ratio',
		'estimates lie within their intervals' => 'NOT (f.miss_ratio BETWEEN f.miss_ratio_low AND f.miss_ratio_high
			AND coalesce(f.storage_ratio BETWEEN f.storage_ratio_low AND f.storage_ratio_high, true))',
		'a note where a figure is missing' => 'f.note IS NULL AND num_nulls(f.miss_ratio, f.storage_ratio, f.read_ms_per_second) > 0',
		'what is about all sizes is said of todays' => 'f.note LIKE $$%all sizes: %$$ AND f.size_factor <> 1',
		'no two marks of a kind' => '(SELECT max(n) > 1 FROM (SELECT count(*) AS n FROM pgbufprobe_advice() GROUP BY mark HAVING mark IS NOT NULL) AS m)');

	for my $rule (sort keys %rules)
	{
		becomes_true($node, "count(*) FILTER (WHERE $rules{$rule}) = 0 AND count(*) >= 11 FROM pgbufprobe_advice() AS f", "$what: $rule");
	}
	becomes_true($node, q{coalesce(bool_and(fewer >= more), true) FROM (SELECT miss_ratio AS more, lag(miss_ratio)
		OVER (ORDER BY size_factor) AS fewer FROM pgbufprobe_advice()) AS f}, "$what: no larger size misses more");
	like(ask($node, q{SELECT string_agg(mark, ',') FROM pgbufprobe_advice() WHERE size_factor = 1}), qr/^today(, knee)?$/, "$what: today is marked");
}

figures_agree('idle');
make_pages($node);
# Reads from storage may remain unknown: below so small a pool, few pages of a large page cache are in the sample.
ok(load_until($node, 20, 'count(miss_ratio) >= 8 FROM pgbufprobe_advice()'), 'after some passes misses are known');
figures_agree('loaded');

# ---------------------------------------------------------------------------
# The page cache hidden and shown again

my $off = q{%storage reads are unknown, because pgbufprobe.os_cache is off};
my $models = ask($node, q{SELECT count(os_cache_bytes) > 0 FROM pgbufprobe_advice()});
set($node, os_cache => 'off');
becomes_true($node, "bool_and(note LIKE '$off' OR miss_ratio IS NULL) AND count(os_cache_bytes) = 0 AND count(storage_ratio) = 0 FROM pgbufprobe_advice()",
	'without the page cache: no figures about it, and why');
figures_agree('without the page cache');
my $size;
ok(wait_for { $size = checkup($node)->{size}; $size->{says} =~ / (WATCHED|IDLE|EARLY|RESTARTED|UNKNOWN)\b/ || $size->{detail} =~ sentence('MORE_NO_STORAGE') && $size->{detail} =~ /os_cache is off/ },
	'and the decision says so') or diag(explain($size));
isnt($size->{verdict}, 'change', 'and is never certain');
set($node, os_cache => 'on');
becomes_true($node, "count(os_cache_bytes) > 0 FROM pgbufprobe_advice()", 'with it: figures again') if $models eq 't';

$node->stop;
done_testing();
