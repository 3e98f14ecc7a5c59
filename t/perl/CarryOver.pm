# Servers that carry both caches over restarts, tables of one row a page, and which of their blocks are in shared buffers.

package CarryOver;

use strict;
use warnings;

use Exporter 'import';
use PageCache;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(stat);

our @EXPORT = qw(
  $carry_worker $carry_load $will_try_again
  carry_node has_begun three_databases in_buffers use_blocks make_table progress restored is_restored all_are_back
  maps_file maps_identity saved_maps files_saved write_maps save log_since why_not_droppable
);

our $carry_worker = q{FROM pg_stat_activity WHERE backend_type = 'pgbufprobe carry-over'};
our $carry_load = q{FROM pg_stat_activity WHERE backend_type = 'pgbufprobe carry-over restore'};
our $will_try_again = qr/LOG:  could not restore a part of both caches in database with OID \d+, will try again/;

# A started server, with pg_buffercache in the database postgres, or nothing if this installation does not have that. It
# saves only at a clean stop, unless $more says otherwise.
sub carry_node
{
	my ($name, $more, %init_options) = @_;
	my $node = start_server($name, "shared_buffers = 2048\nshared_preload_libraries = pgbufprobe\npgbufprobe.carry_over = on\n"
		  . "pgbufprobe.carry_over_interval = 0\nlog_statement = none\n$no_background_writes\n" . ($more // ''), allows_streaming => 1, %init_options);

	ask($node, 'CREATE EXTENSION pgbufprobe');
	has_begun($node);
	return create_if_available($node, 'pg_buffercache') ? $node : undef;
}

# Waits until the worker of a server that was just started has begun, unless it is off. Before, it says "no worker" or "off", a
# stop saves nothing, and it does not notice that it is turned off and on.
sub has_begun
{
	my ($node) = @_;
	$node->poll_query_until('postgres',
		q{SELECT carry_over NOT IN ('no worker', 'off') OR NOT current_setting('pgbufprobe.carry_over')::boolean FROM pgbufprobe_status()})
	  or die 'the worker does not begin';
	return;
}

# A server with a table in each of three databases, of which all blocks are in use. Returns it and the conditions for these
# blocks by database.
sub three_databases
{
	my $node = carry_node('main', "shared_buffers = 4096\nmax_worker_processes = 8\n") or return;
	my %tables;

	ask($node, "CREATE DATABASE $_") for 'moved', 'renamed';
	for my $database ('postgres', 'moved', 'renamed')
	{
		$tables{$database} = make_table($node, $database, 'pages', 700);
		use_blocks($node, $database, 'pages', 0, 699, 2);
	}
	return ($node, \%tables);
}

# A table in a database, checkpointed; returns the condition for its blocks in pg_buffercache.
sub make_table
{
	my ($node, $database, $table, $nblocks, $tablespace) = @_;
	ask($node, one_row_a_page($table, $nblocks, '', $tablespace) . "VACUUM $table; CHECKPOINT", $database);
	my ($oid, $file) = split /\|/,
	  ask($node, "SELECT (SELECT oid FROM pg_database WHERE datname = current_database()), pg_relation_filenode('$table')", $database);
	return "reldatabase = $oid AND relfilenode = $file AND relforknumber = 0";
}

# "block:usage count" of the blocks that are in shared buffers.
sub in_buffers
{
	my ($node, $condition) = @_;
	return ask($node, "SELECT coalesce(string_agg(relblocknumber || ':' || usagecount, ' ' ORDER BY relblocknumber), '')
		FROM pg_buffercache WHERE $condition");
}

# Uses blocks of a table so many times each, in a new session.
sub use_blocks
{
	my ($node, $database, $table, $first, $last, $times) = @_;
	return ask($node, "DO \$\$ BEGIN FOR i IN 1 .. $times LOOP FOR b IN $first .. $last LOOP
		PERFORM id FROM $table WHERE ctid = format('(%s,1)', b)::tid; END LOOP; END LOOP; END \$\$", $database);
}

# Why a test cannot drop the server's pages from the page cache and see that, if so.
sub why_not_droppable
{
	my ($node) = @_;
	return 'the state of the page cache is unknown here'
	  if ask($node, "SELECT count(cached_bytes) FROM pgbufprobe_os_cache('pg_class')") == 0;
	return why_not_evictable($node->data_dir);
}

sub progress
{
	my ($node, $columns) = @_;
	return ask($node, "SELECT $columns FROM pgbufprobe_status()");
}

# Waits until the restore is complete.
sub restored
{
	my ($node) = @_;
	return $node->poll_query_until('postgres', q{SELECT carry_over = 'done' FROM pgbufprobe_status()});
}

sub is_restored { return ok(restored($_[0]), "$_[1]: the restore completes") }

# That the blocks of three databases are back, after a restore with failures that went on.
sub all_are_back
{
	my ($node, $tables, $from, $what) = @_;
	is_restored($node, $what);
	is(scalar(() = in_buffers($node, $tables->{$_}) =~ /:/g), 700, "$what: all blocks in $_ are back") for sort keys %$tables;
	unlike(slurp_file($node->logfile, $from), qr/restored both caches without/, "$what: nothing is missing");
	return;
}

sub maps_file { return $_[0]->data_dir . '/pg_stat/pgbufprobe.maps' }

# Inode, size and time of the file: a new one may have the inode of an old one.
sub maps_identity { return join ' ', (stat maps_file($_[0]))[ 1, 7, 9 ] }

# All saved maps, each [database, tablespace, file number, fork, segment, map].
sub saved_maps
{
	my ($node) = @_;
	my $saved = slurp_file(maps_file($node));
	my @maps;

	for (my $at = 56; $at < length($saved) - 12; $at += 24 + length $maps[-1][5])
	{
		my ($tablespace, $database, @file) = unpack 'L5 L/a', substr $saved, $at;
		push @maps, [ $database, $tablespace, @file ];
	}
	return @maps;
}

# The files that have a map: the same without the map.
sub files_saved { return map { join '/', @$_[ 0 .. 4 ] } saved_maps($_[0]) }

# Replaces the file of a server that is stopped; or removes it, if there is no content.
sub write_maps
{
	my ($node, $content) = @_;
	return defined $content ? replace_file(maps_file($node), $content) : unlink maps_file($node);
}

# Makes the worker save now: it does when it is turned on.
sub save
{
	my ($node) = @_;
	has_begun($node);
	my $before = progress($node, 'saved_at');

	set($node, carry_over => 'off');
	becomes_true($node, q{carry_over = 'off' FROM pgbufprobe_status()}, 'it is off');
	set($node, carry_over => 'on', carry_over_interval => '1d');
	return becomes_true($node, "saved_at IS DISTINCT FROM nullif('$before', '')::timestamptz AND carry_over <> 'saving' FROM pgbufprobe_status()",
		'turned on: it saves');
}

# What the server has logged about the carry-over, or as an error of others than our sessions, since an earlier position in
# its log.
sub log_since
{
	my ($node, $from) = @_;
	return join "\n", grep { !/\.pl (?:FATAL|DETAIL|LOG):/ && /carry-over|carry_over|pgbufprobe\.maps|both caches|ERROR|FATAL|PANIC/ } split /\n/, slurp_file($node->logfile, $from);
}

1;
