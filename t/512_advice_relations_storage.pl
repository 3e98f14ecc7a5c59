# The storage reads of relations add up to those of the advice, and agree with an exact model of the pool and the kernel's page cache.

use strict;
use warnings;

use Programs;

run_unit_test('relations_storage', 't/unit/storage_model.c', 't/unit/advice_pool.c', 't/unit/advice_run.c', glob('src/advice*.c'));
