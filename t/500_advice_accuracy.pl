# Compares the estimates of src/advice*.c with a model of the server's clock sweep.

use strict;
use warnings;

use Programs;

run_unit_test('advice_accuracy', 't/unit/advice_pool.c', 't/unit/advice_run.c', glob('src/advice*.c'));
