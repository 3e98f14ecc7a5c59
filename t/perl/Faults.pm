# Servers whose calls about files fail or wait as a test wants it, by t/tools/faults.c, which has the layout of the file.

package Faults;

use strict;
use warnings;

use Errno;
use Exporter 'import';
use PostgreSQL::Test::Utils;
use Server;

our @EXPORT = qw(@calls start_with_faults set_faults clear_faults fault_counts faults_seed);

our @calls = qw(open read pread write fsync rename readdir fork);
my %number = map { $calls[$_] => $_ } 0 .. $#calls;
my $call_bytes = 64;
my $calls_at = 16 + 64 + 512;
my $seed = 1;
my $path;

# One per test.
sub file
{
	if (!$path)
	{
		$path = temp_path('faults');
		append_to_file($path, "\0" x ($calls_at + $call_bytes * @calls));
	}
	return $path;
}

sub put
{
	my ($at, $bytes) = @_;

	open my $handle, '+<:raw', file() or die file() . ": $!";
	sysseek $handle, $at, 0 or die $!;
	syswrite($handle, $bytes) == length $bytes or die $!;
	close $handle or die $!;
	return;
}

# What happens at random depends on this number, and on how often faults were set.
sub faults_seed { ($seed) = @_; return }

# Nothing fails or waits; nothing is counted.
sub clear_faults { return put(0, pack 'q', 0) }

# For each call: fail_at (the number of the one that fails), fail_rate (a share of all), error (a name of errno.h), delay_s,
# delay_rate (1 unless given), hangs (waits until a signal).
# Of the processes whose title contains $title, for paths that contain $path. All counts begin at 0.
sub set_faults
{
	my ($title, $path, %faults) = @_;
	my $contents = pack 'Z64 Z512', $title, $path;

	clear_faults();
	for my $call (@calls)
	{
		my %fault = %{ delete $faults{$call} // {} };
		my ($fail_at, $fail_rate, $error, $delay_s, $delay_rate, $hangs) = delete @fault{qw(fail_at fail_rate error delay_s delay_rate hangs)};
		die "unknown: @{[ keys %fault ]}" if %fault;
		my $delay_us = $hangs ? -1 : ($delay_s // 0) * 1e6;
		$delay_rate //= $delay_us ? 1 : 0;
		$contents .= pack 'q8', 0, 0, 0, $fail_at // 0, ($fail_rate // 0) * 1e6, $error ? Errno->can($error)->() : 0, $delay_rate * 1e6, $delay_us;
	}
	die "unknown: @{[ keys %faults ]}" if %faults;
	put(8, pack('q', $seed) . $contents);
	$seed++;
	return put(0, pack 'q', 1);
}

# For each call: how many there were, have failed and have waited.
sub fault_counts
{
	my $contents = slurp_file(file());
	my %counts;

	for my $call (@calls)
	{
		@{ $counts{$call} }{qw(count failed delayed)} = unpack 'q3', substr $contents, $calls_at + $call_bytes * $number{$call};
	}
	return \%counts;
}

# Starts a server whose faults are those of the file.
sub start_with_faults { return start_with($_[0], FAULTS => file()) }

1;
