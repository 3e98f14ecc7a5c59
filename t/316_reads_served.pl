# Compares what probes of a simulated page cache find with the misses that it serves, and corrects the advice by that.

use strict;
use warnings;

use Programs;

run_unit_test('served', 't/unit/storage_model.c', 't/unit/advice_pool.c', 't/unit/advice_run.c', 'src/served.c', glob('src/advice*.c'));
