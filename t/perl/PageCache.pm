# Oracles for the page cache, which share no code with the extension. They put files into a state, and watch it.

package PageCache;

use strict;
use warnings;

use Exporter 'import';
use IO::Socket::UNIX;
use IPC::Open2;
use PostgreSQL::Test::Utils;
use Programs;
use Server;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(
  run_or_die start_cache_server one_row_a_page segment_files why_not_evictable
  cached_pages cachestat_counts set_pages read_file
  drop_files bring_back advised_away undisturbed with_blocks make_socket
);

# How often something is tried that anything else on the machine may disturb.
my $rounds = 40;

sub run_or_die
{
	my @command = @_;

	open my $pipe, '-|', @command or die "$command[0]: $!";
	my $output = do { local $/; <$pipe> };
	close $pipe or die "@command[0 .. 1] failed";
	chomp $output;
	return $output;
}

# ---------------------------------------------------------------------------
# Files

# For each file, '1' for each page that is in memory and '0' for each other.
sub cached_pages
{
	my @files = @_;
	my @pages = split /\n/, run_or_die(build_program('mincore_oracle'), @files), -1;

	push @pages, '' while @pages < @files;
	return wantarray ? @pages : $pages[0];
}

# For each file, its pages "cached|dirty|writeback|evicted|recently evicted";
# or nothing, if the kernel has no cachestat.
sub cachestat_counts
{
	my @files = @_;
	my @counts = split /\n/, run_or_die(build_program('cachestat_oracle'), @files);
	return $counts[0] =~ /^\d+\|/ ? @counts : ();
}

# Puts pages of a file into a state: a list of verb, first page and number of
# pages, see page_state.c.
sub set_pages
{
	my ($file, @states) = @_;

	run_or_die(build_program('page_state'), $file, @states);
	return;
}

# Reads a file from front to end, so that the kernel reads ahead.
sub read_file
{
	my ($file) = @_;
	my $buffer;

	open my $handle, '<:raw', $file or die "$file: $!";
	1 while sysread $handle, $buffer, 1 << 20;
	close $handle;
	return;
}

# Makes attempts until no page of the files has this digit, and waits that long after each, in tenths of a second.
# Returns how many pages still have it.
sub pages_left
{
	my ($attempt, $digit, $tenths, @files) = @_;
	my $left;

	for my $round (1 .. $rounds)
	{
		$attempt->();
		for (1 .. $tenths)
		{
			$left = () = join('', cached_pages(@files)) =~ /$digit/g;
			return 0 if $left == 0;
			usleep(100_000);
		}
		note("round $round: $left pages are still $digit");
	}
	return $left;
}

# Drops files from memory, each as a whole; returns how many of their pages remain. The kernel skips a page that it
# is working on.
sub drop_files
{
	my @files = @_;
	return pages_left(sub { set_pages($_, 'drop', 0, length cached_pages($_)) for @files }, '1', 1, @files);
}

# Drops files by advice. What is to be dropped is prepared each time, so that the advice has to drop all of it at once.
sub advised_away
{
	my ($prepare, $advise, @files) = @_;
	return pages_left(sub { $prepare->(); $advise->() }, '1', 1, @files);
}

# Advice to read starts reads that nobody waits for, and under memory pressure the kernel follows only a part of it.
# So it is repeated. Returns how many pages are missing.
sub bring_back
{
	my ($advise, @files) = @_;
	return pages_left($advise, '0', 20, @files);
}

# Whether the pages of a file that are in memory stay there. Returns what says how
# many have left, even if they have been read again since.
sub watch_pages
{
	my ($file) = @_;
	my $pid = open2(my $out, my $in, build_program('page_watch'), $file);
	my $watched = <$out>;

	return sub {
		close $in;
		my $left = <$out>;
		waitpid $pid, 0;
		die 'page_watch failed' unless defined $left && $? == 0;
		return int $left;
	};
}

# Asks while nothing changes. The kernel may drop a page at any time: on some machines it drops all that was not used
# for some seconds, with most memory free. So the state of the caches, a text, is taken before and after. Where they
# differ, the answer does not count, and everything is repeated. Returns the answer; or, if something has changed in
# every round, nothing, and a test has failed.
#
# Options: reach puts the caches into a state, in each round; wanted is the state that they must have then; reads is a
# file that the question itself reads, whose pages may come, but may not leave.
sub undisturbed
{
	my ($what, $state, $ask, %options) = @_;
	my $wanted = $options{wanted};

	for my $round (1 .. $rounds)
	{
		$options{reach}->() if $options{reach};
		my $left = $options{reads} ? watch_pages($options{reads}) : undef;
		my $before = $state->();
		my $answer = $ask->();
		my $is_still = $left ? $left->() == 0 : $before eq $state->();
		my $is_wanted = !defined $wanted || $before eq $wanted;

		return $answer if $is_still && $is_wanted;
		note("$what, round $round: the caches "
			  . ($is_wanted ? 'have changed meanwhile' : 'are not in the state wanted'));
		usleep(100_000);
	}
	fail("$what: the caches stay as they are while they are asked for, in one of $rounds rounds");
	return;
}

# Why pages of a file, or of the files in a directory, cannot be dropped from
# memory, if so.
sub why_not_evictable
{
	my ($path) = @_;
	my $type = run_or_die('stat', '-f', '-c', '%T', $path);
	return $type =~ /^(tmpfs|ramfs|overlayfs|zfs)$/ ? "$type keeps its pages" : undef;
}

# The files of a fork, as the server's rules have them: every segment but the
# last is full.
sub segment_files
{
	my ($node, $session, $relation, $fork) = @_;
	my ($path, $segment_bytes) = split /\|/, $session->query_safe(
		"SELECT pg_relation_filepath('$relation'::regclass),
			pg_size_bytes(current_setting('segment_size'))");
	my @files;

	$path .= "_$fork" if $fork ne 'main';
	for (my $segment = 0;; $segment++)
	{
		my $file = $node->data_dir . "/$path" . ($segment == 0 ? '' : ".$segment");

		last unless -e $file;
		push @files, $file;
		last if -s $file < $segment_bytes;
	}
	return @files;
}

# The path of a socket is short where it is made.
sub make_socket
{
	my ($path) = @_;
	my $short = PostgreSQL::Test::Utils::tempdir_short() . '/socket';

	IO::Socket::UNIX->new(Local => $short, Listen => 1) or die $!;
	return rename $short, $path;
}

# ---------------------------------------------------------------------------
# Relations

# A server with the extension, and with what it can be compared with.
sub start_cache_server
{
	my ($name, $conf, %init_options) = @_;
	my $node = start_server($name, "$conf\n$no_background_writes", %init_options);

	ask($node, 'CREATE EXTENSION pgbufprobe');
	create_if_available($node, 'pg_buffercache') or note('no pg_buffercache: nothing is compared with it');
	return $node;
}

# Runs a query on those of so many blocks that a condition on "block" names, by the row in each.
sub with_blocks
{
	my ($session, $query, $nblocks, $condition) = @_;
	return $session->query_safe("$query WHERE ctid = ANY (ARRAY(SELECT format('(%s,1)', block)::tid
		FROM generate_series(0, $nblocks - 1) block WHERE $condition))");
}

# A table of so many pages, one row in each, and room to update it there.
sub one_row_a_page
{
	my ($table, $pages, $kind, $tablespace) = @_;
	$kind //= '';
	$tablespace //= 'pg_default';

	return qq{
CREATE $kind TABLE $table (id integer, filler text)
	WITH (fillfactor = 10, autovacuum_enabled = off) TABLESPACE $tablespace;
ALTER TABLE $table ALTER filler SET STORAGE PLAIN;
INSERT INTO $table SELECT i, repeat('x', current_setting('block_size')::integer / 16)
	FROM generate_series(0, $pages - 1) i;
};
}

1;
