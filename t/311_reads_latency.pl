
# Percentiles are right to 1 % up to ten million times in bounded memory: src/latency.c compiled alone,
# compared with the sorted times by t/unit/latency.c, whose TAP is passed on.
use strict;
use warnings;
use File::Temp qw(tempdir);

my $program = tempdir(CLEANUP => 1) . '/latency';

system('cc', '-O2', '-std=c11', '-Wall', '-Wextra', '-Werror', '-o', $program,
	't/unit/latency.c', 'src/latency.c', '-lm') == 0
  or die "could not compile t/unit/latency.c";
system($program) == 0 or die "t/unit/latency.c failed";
