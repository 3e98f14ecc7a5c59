# A file of maps that is torn, damaged or foreign is ignored with one message; one whose relations are gone, or have other
# pages, restores what still applies. A disk that is full keeps the old file.

use strict;
use warnings;

use CacheMap;
use CarryOver;
use PageCache;
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = carry_node('main', 'shared_buffers = 4096') or plan skip_all => 'no pg_buffercache, with which the results are compared';
my $file = maps_file($node);
my $table = make_table($node, 'postgres', 'pages', 300);
my $from;

# ---------------------------------------------------------------------------
# What cannot be written

save($node);
symlink '/dev/full', "$file.tmp" or die $!;
$from = -s $node->logfile;
set($node, carry_over_interval => '1s');
logs($node, $from, qr/LOG:  could not write file "pg_stat\/pgbufprobe\.maps\.tmp": No space left on device/,
	'the disk is full: the log says so');
set($node, carry_over_interval => '0');
ok(wait_for { !-l "$file.tmp" }, 'the disk is full: the temporary file is removed');
# Another save may still be writing one.
wait_for { mkdir "$file.tmp" } or die $!;
$from = -s $node->logfile;
$node->stop;
like(slurp_file($node->logfile, $from), qr/LOG:  could not write file "pg_stat\/pgbufprobe\.maps\.tmp": Is a directory/,
	'a directory is in the way at the stop: the log says so');
ok(-s $file, 'the old file remains');
rmdir "$file.tmp" or die $!;
$node->start;
is_restored($node, 'a start');
mkfifo("$file.tmp", 0600) or die $!;
my $replaced = (stat $file)[1];
$node->stop;
isnt((stat $file)[1], $replaced, 'a FIFO is in the way at the stop, which does not wait for its reader');
append_to_file("$file.tmp", 'the first bytes');
$node->start;
ok(wait_for { !-e "$file.tmp" }, 'what is left of an earlier save is removed at a start');
$node->stop;

# A file that cannot be read keeps its map.
write_maps($node, undef);
$node->start;
use_blocks($node, 'postgres', 'pages', 0, 299, 4);
my $relation = $node->data_dir . '/' . ask($node, q{SELECT pg_relation_filepath('pages')});
save($node);
$from = -s $node->logfile;
chmod 0, $relation or die $!;
SKIP:
{
	skip 'this user can read every file', 3 if -r $relation;
	save($node);
	like(slurp_file($node->logfile, $from), qr/LOG:  could not open file "base\S+": Permission denied\n.*What was saved before/,
		'a file that cannot be read: the log says so');
	$node->stop('immediate');
	chmod 0600, $relation or die $!;
	$node->start;
	is_restored($node, 'a file that could not be read');
	is(scalar(() = in_buffers($node, $table) =~ /:4/g), 300, 'a file that could not be read: its blocks are restored');
}
chmod 0600, $relation or die $!;

# So do those of a directory.
my $directory = $node->data_dir . '/base/1';
my @before;
# Nobody is connected to that database, so the kernel alone decides what the caches have of it.
for my $attempt (1 .. 10)
{
	read_file($_) for grep { -f } glob "$directory/*";
	save($node);
	@before = grep { /^1\// } files_saved($node);
	last if @before > 10;
}
$from = -s $node->logfile;
chmod 0, $directory or die $!;
SKIP:
{
	skip 'this user can read every directory', 3 if -r $directory;
	save($node);
	like(slurp_file($node->logfile, $from), qr/LOG:  could not read each directory of relations: Permission denied\n.*What was saved before/,
		'a directory that cannot be read: the log says so');
	cmp_ok(scalar @before, '>', 10, 'it had maps');
	is_deeply([ sort grep { /^1\// } files_saved($node) ], [ sort @before ], 'and has them still');
}
chmod 0700, $directory or die $!;
set($node, carry_over_interval => '0');
$node->stop;

# ---------------------------------------------------------------------------
# Files that are damaged, or not ours

unlink $file;
$node->start;
has_begun($node);
use_blocks($node, 'postgres', 'pages', 0, 199, 4);
my $used = in_buffers($node, $table);
$node->stop;
my $good = slurp_file($file);

my $body = substr $good, 0, -4;
my $header = 56;
ok(with_checksum($body) eq $good, 'the checksum of a file is as expected');

my @cases = (
	[ 'empty', '', 'it is too short' ],
	[ 'of one byte', 'x', 'it is too short' ],
	[ 'with a changed byte', changed($good, length($good) - 1000, chr(ord(substr $good, -1000, 1) ^ 1)), 'it is damaged' ],
	[ 'of zeros', "\0" x length $good, 'it is damaged' ],
	[ 'of something else', $good =~ s/^......../not ours/sr, 'it is damaged' ],
	[ 'of another format', with_checksum(changed($body, 8, pack 'L', 3)), 'it was written by another version of pgbufprobe' ],
	[ 'of another layout', with_checksum(changed($body, 12, 'abcd')), 'it was written by another version of pgbufprobe' ],
	[ 'of another major version', with_checksum(changed($body, 16, pack 'L', 14)), 'it was written by another version of PostgreSQL' ],
	[ 'of another block size', with_checksum(changed($body, 20, pack 'L', 512)), 'it was written by a server with another block or segment size' ],
	[ 'of another cluster', with_checksum(changed($body, 32, pack 'Q', 1)), 'it is that of another database cluster' ],
	[ 'of another copy of the cluster', with_checksum(changed($body, 40, pack 'Q', 1)), 'it was copied from another server, or restored' ],
	[ 'with an impossible fork', with_checksum(changed($body, $header + 12, pack 'L', 9)), 'it has an impossible entry' ],
	[ 'with a database of shared relations', with_checksum(changed($body, $header, pack 'L2', 1664, 5)), 'it has an impossible entry' ],
	[ 'with an impossible length', with_checksum(changed($body, $header + 20, pack 'L', 4_000_000_000)), 'it has an impossible entry' ]);
# Cut at many places, also at those between two parts.
push @cases, map { [ "cut at $_", substr($good, 0, $_), $_ < $header + 12 ? 'it is too short' : 'it is damaged' ] }
  1, 8, $header, $header + 3, $header + 4, $header + 5, $header + 24, $header + 28, $header + 100,
  map { int(length($good) * $_ / 8) } 1 .. 7;
push @cases, [ 'cut by a byte', substr($good, 0, -1), 'it is damaged' ];

for my $case (@cases)
{
	my ($what, $content, $reason) = @$case;

	write_maps($node, $content);
	$from = -s $node->logfile;
	$node->start;
	becomes_true($node, q{carry_over = 'waiting' FROM pgbufprobe_status()}, "a file $what: nothing is restored");
	my @lines = grep { /pgbufprobe\.maps|ERROR|FATAL/ } split /\n/, slurp_file($node->logfile, $from);
	is(scalar @lines, 1, "a file $what: there is one message");
	like($lines[0], qr/LOG:  ignoring file "pg_stat\/pgbufprobe\.maps", because \Q$reason\E$/, "a file $what: with the reason");
	$node->stop('immediate');
}

# What is no regular file, or is much longer than it says.
for my $what ('a FIFO', 'a directory', 'a sparse file')
{
	write_maps($node, $good);
	unlink $file if $what ne 'a sparse file';
	$what eq 'a FIFO' ? mkfifo($file, 0600) : $what eq 'a directory' ? mkdir($file) : truncate($file, 100 * 2**30) or die $!;
	$from = -s $node->logfile;
	$node->start;
	becomes_true($node, q{carry_over = 'waiting' FROM pgbufprobe_status()}, "$what: nothing is restored");
	like(log_since($node, $from), qr/LOG:  ignoring file "pg_stat\/pgbufprobe\.maps", because it is @{[ $what eq 'a sparse file' ? 'damaged' : 'not a regular file' ]}$/m,
		"$what: with the reason");
	$node->stop('immediate');
	rmdir $file;
}
write_maps($node, $good);
mkdir "$file.restoring" or die $!;
$node->start;
is_restored($node, 'a directory in place of the note about restores');
is(in_buffers($node, $table), $used, 'a directory in place of the note about restores: the blocks are back');
$node->stop('immediate');
rmdir "$file.restoring";

# A map that is damaged beside a checksum that is right: it restores nothing, and the others all.
my $entry = $header;
my ($filenode) = $table =~ /relfilenode = (\d+)/;
$entry += 24 + unpack 'x20 L', substr $body, $entry while unpack('x8 L', substr $body, $entry) == $filenode;
write_maps($node, with_checksum(changed($body, $entry + 24, 'not a map')));
$node->start;
is_restored($node, 'a map that is none');
is(in_buffers($node, $table), $used, 'a map that is none: the others are restored');
$node->stop('immediate');

# ---------------------------------------------------------------------------
# Other relations by now

write_maps($node, $good);
$node->start;
is_restored($node, 'the good file');
is(in_buffers($node, $table), $used, 'the good file: the blocks are back');
set($node, carry_over => 'off');
make_table($node, 'postgres', 'dropped', 50);
ask($node, 'CREATE DATABASE gone');
make_table($node, 'gone', 'pages', 50);
ask($node, 'CREATE DATABASE closed');
make_table($node, 'closed', 'pages', 50);
ask($node, 'CREATE DATABASE hasty');
my $hasty = make_table($node, 'hasty', 'pages', 300);
# PostgreSQL 17 has it, and older ones take it for a setting of some extension that is not loaded.
my $timeout = ask($node, 'SHOW server_version_num') >= 170000 ? 'transaction_timeout' : 'other.transaction_timeout';
ask($node, "ALTER DATABASE hasty SET $timeout = '1ms'");
save($node);
set($node, carry_over => 'off');
ask($node, 'DELETE FROM pages WHERE id >= 100; VACUUM pages');
my $length = ask($node, q{SELECT pg_relation_size('pages') / current_setting('block_size')::int});
is($length, 100, 'a table becomes shorter');
ask($node, $_) for 'DROP TABLE dropped', 'DROP DATABASE gone', 'ALTER DATABASE closed ALLOW_CONNECTIONS false', 'CHECKPOINT';
$node->stop;
append_to_file($node->data_dir . '/postgresql.auto.conf', "pgbufprobe.carry_over = on\n");
$from = -s $node->logfile;
$node->start;
is_restored($node, 'other relations');
is(scalar(() = in_buffers($node, $table) =~ /:/g), 100, 'the table has the blocks that it still has');
is(progress($node, 'restored_fraction'), 1, 'what is gone counts as done');
is(scalar(() = in_buffers($node, $hasty) =~ /:/g), 300, 'a database that has a timeout for transactions is restored');
unlike(log_since($node, $from), qr/ERROR|FATAL|WARNING/, 'a table and a database that are gone, and one that is closed, are left out');

# A page that is damaged: the others are restored, and no session gets another page in place of it.
ask($node, 'ALTER DATABASE postgres SET zero_damaged_pages = on');
my $path = $node->data_dir . '/' . ask($node, q{SELECT pg_relation_filepath('pages')});
$node->stop;
open my $handle, '+<:raw', $path or die $!;
seek $handle, 50 * 8192, 0;
print $handle 'x' x 100;
close $handle;
$from = -s $node->logfile;
$node->start;
is_restored($node, 'a damaged page');
like(log_since($node, $from), qr/ERROR:  invalid page in block 50 of relation/, 'a damaged page: the log says so');
like(in_buffers($node, $table), qr/^0:/, 'a damaged page: blocks before it are restored');
unlike(in_buffers($node, $table), qr/\b50:/, 'a damaged page: it is not in shared buffers');

has_no_crash($node);
done_testing();
