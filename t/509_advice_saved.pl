# What the advice has learned is restored above an empty pool: the answers stand, and stay right.

use strict;
use warnings;

use Programs;

run_unit_test('advice_saved', 't/unit/storage_model.c', 't/unit/advice_pool.c', 't/unit/advice_run.c', glob('src/advice*.c'));
