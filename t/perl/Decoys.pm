# Objects that a user may put into the schema public, in the hope that somebody else's query uses them.
package Decoys;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;

our @EXPORT = qw(create_decoys called_in);

# The names of functions that are called in some files, and other words before a parenthesis.
sub called_in
{
	my %words = map { $_ => 1 } map { slurp_file($_) =~ /\b([a-z_]+)\s*\(/g } @_;
	return sort keys %words;
}

# As a role: operators, casts, and functions of these names. Each raises the error "caught" when it runs.
sub create_decoys
{
	my ($node, $database, $role, @words) = @_;

	$node->safe_psql($database, "SET ROLE $role; SET decoys.words = '@words';\n" . slurp_file('t/perl/decoys.sql'));
	return;
}

1;
