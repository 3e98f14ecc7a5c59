# Compares what each look at the pool sees with all that a model of the pool holds.

use strict;
use warnings;

use Programs;

run_unit_test('look', 'src/look.c', glob('src/advice*.c'));
