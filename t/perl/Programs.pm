# Compiles the C files of t/unit.

package Programs;

use strict;
use warnings;

use Exporter 'import';
use File::Temp qw(tempdir);

our @EXPORT = qw(build_program build_library run_unit_test);

my $directory = tempdir(CLEANUP => 1);
chmod 0755, $directory;
my %built;

# Compiles once; returns the path.
sub compile
{
	my ($target, @arguments) = @_;

	return $built{$target} //= do
	{
		system('cc', '-O2', '-std=c11', '-Wall', '-Wextra', '-Werror', '-o', "$directory/$target", @arguments) == 0
		  or die "could not compile $target";
		"$directory/$target";
	};
}

sub build_program
{
	my ($name) = @_;
	return compile($name, "t/unit/$name.c");
}

# A library for LD_PRELOAD.
sub build_library
{
	my ($name) = @_;
	return compile("$name.so", '-fPIC', '-shared', "t/unit/$name.c", '-ldl');
}

# Compiles a test with these files and nothing else, and runs it, which prints TAP.
sub run_unit_test
{
	my ($name, @files) = @_;
	my $program = compile($name, "t/unit/$name.c", @files, '-lm');

	return system($program) == 0 || die "t/unit/$name.c failed";
}

1;
