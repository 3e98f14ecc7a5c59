# What src/advice.c estimates for other sizes of the pool is what pools of these sizes do: compiled alone and compared
# with a model of the server's clock sweep by t/unit/advice.c, whose TAP is passed on.
use strict;
use warnings;
use File::Temp qw(tempdir);

my $program = tempdir(CLEANUP => 1) . '/advice';

system('cc', '-O2', '-std=c11', '-Wall', '-Wextra', '-Werror', '-o', $program,
	't/unit/advice.c', glob('src/advice*.c'), '-lm') == 0
  or die "could not compile t/unit/advice.c";
system($program) == 0 or die "t/unit/advice.c failed";
