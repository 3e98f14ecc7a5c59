# Divides generated cache maps into extents: which blocks belong to them, and in which order they are restored.

use strict;
use warnings;

use Programs;

run_unit_test('carry_extents', 'src/carryextent.c', 'src/cachemap.c');
