# What collectors export of a standby, and of a server whose sampler is off or not preloaded.

use strict;
use warnings;

use Collectors;
use Sampler;
use Server;
use Test::More;

my $node = sampler_node('main');
ask($node, q{
	CREATE SCHEMA pgbufprobe;
	ALTER EXTENSION pgbufprobe SET SCHEMA pgbufprobe;
	ALTER ROLE CURRENT_USER SET search_path = public, pgbufprobe});
give_role($node, 'monitor');
make_pages($node);

my $standby = init_standby($node);
$standby->start;
await_samples($standby, 2);
my $there = exported($standby, 'monitor', 'pgwatch');
is_deeply([ grep { !/^(pgbufprobe_(advice|gain|memory|size|prediction|working_set))$/ } split / /, queries_of($there) ],
	[ sort split / /, "$of_pool pgbufprobe_sampler" ], 'standby: all but what its own workload has to show');
is($there->{'pgbufprobe_sampler_running{}'}, 1, 'standby: it has a sampler of its own');
$standby->stop;

ok(load_until($node, 20, 'count(miss_ratio) >= 6 FROM pgbufprobe_advice()'), 'the advice knows sizes');
ok(wait_for { queries_of(exported($node, 'monitor', 'pgwatch')) =~ /_advice .*_gain .*_sampler .*_size/ }, 'and there are series about it');
for my $state ('switched off', 'not preloaded')
{
	$state eq 'switched off' ? set($node, sampler => 'off') : $node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
	$node->restart if $state eq 'not preloaded';
	for my $format ('pgwatch', 'postgres_exporter')
	{
		my $without = exported($node, 'monitor', $format);
		is(queries_of($without), join(' ', sort split / /, "$of_pool pgbufprobe_sampler"), "$format, sampler $state: its series are absent");
		is_deeply([ grep { /sampler/ } names_of($without) ], ['pgbufprobe_sampler_running'], "$format: but for one");
		is($without->{'pgbufprobe_sampler_running{}'}, 0, "$format: which says so");
		is_deeply([ map { $without->{"pgbufprobe_verdict_${_}{}"} } qw(unknown fine consider change advised_bytes) ], [ 1, 0, 0, 0, undef ],
			"$format: the verdict is unknown, and names no size");
	}
}

$node->stop;
has_no_crash($node);
done_testing();
