# Each file of sql/ stands alone: the files also pass in reverse order.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = start_server('main', "shared_buffers = 32MB\nmax_connections = 20\n$no_background_writes");
my @files = reverse sort map { m{^sql/(.*)\.sql$} } glob 'sql/*.sql';
my $has_buffercache = create_if_available($node, 'pg_buffercache');
my $results = "${PostgreSQL::Test::Utils::tmp_check}/reversed";

command_ok(
	[
		$ENV{PG_REGRESS}, '--inputdir=.', "--outputdir=$results", '--bindir=',
		'--host=' . $node->host, '--port=' . $node->port, '--dbname=contrib_regression',
		grep { $has_buffercache || $_ ne 'buffercache' } @files
	],
	'pg_regress: ' . join ' ', @files)
  or diag(-e "$results/regression.diffs" ? slurp_file("$results/regression.diffs") : 'no differences');
has_no_crash($node);

$node->stop;
done_testing();
