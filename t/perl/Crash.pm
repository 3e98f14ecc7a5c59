# Waiting for a server that is about to recover from a crash. poll_query_until() passes its query to psql as
# a file, and IPC::Run dies of a psql that ends before it has read that because there is no server.
package Crash;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep);

our @EXPORT = qw(poll_through_crash);

# Repeats the query until its answer is true. False if that took too long.
sub poll_through_crash
{
	my ($node, $query) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		my ($out, $err);
		IPC::Run::run([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', $query ], '<', \undef, '>', \$out, '2>', \$err);
		return 1 if $out =~ /^t$/;
		usleep(100_000);
	}
	return 0;
}

1;
