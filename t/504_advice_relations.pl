# The figures of relations add up to those of the advice, and agree with pools of half and twice the size.

use strict;
use warnings;

use Programs;

run_unit_test('advice_relations', 't/unit/advice_pool.c', glob('src/advice*.c'));
run_unit_test('relations_storage', 't/unit/storage_model.c', 't/unit/advice_pool.c', 't/unit/advice_run.c', glob('src/advice*.c'));
