# The figures of relations add up to those of the advice, and agree with pools of half and twice the size.

use strict;
use warnings;

use Programs;

run_unit_test('advice_relations', 't/unit/advice_pool.c', glob('src/advice*.c'));
