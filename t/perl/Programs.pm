# Compiles the C files of t/tools.

package Programs;

use strict;
use warnings;

use Exporter 'import';
use File::Temp qw(tempdir);

our @EXPORT = qw(build_program build_library build_from);

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

# A program that a test has written.
my $nsources = 0;

sub build_from
{
	my ($source, @options) = @_;
	return compile('source' . $nsources++, @options, $source);
}

# A library for LD_PRELOAD.
sub build_library
{
	my ($name) = @_;
	return compile("$name.so", '-fPIC', '-shared', "t/tools/$name.c", '-ldl');
}

1;
