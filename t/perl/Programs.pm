# Compiles the C files of t/tools.

package Programs;

use strict;
use warnings;

use Exporter 'import';
use File::Temp qw(tempdir);

our @EXPORT = qw(build_program build_library);

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
	return compile($name, "t/tools/$name.c");
}

# A library for LD_PRELOAD.
sub build_library
{
	my ($name) = @_;
	return compile("$name.so", '-fPIC', '-shared', "t/tools/$name.c", '-ldl');
}

1;
