# Compares the storage reads that src/advice*.c predicts with an exact model of the pool and the kernel's page cache.

use strict;
use warnings;

use Programs;

run_unit_test('advice_storage', 't/unit/storage_model.c', 't/unit/advice_pool.c', 't/unit/advice_run.c', glob('src/advice*.c'));
