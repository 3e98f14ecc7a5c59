# Reads the server's memory out of folders that look like those of many kernels and containers.

use strict;
use warnings;

use Programs;

run_unit_test('osmemory', 'src/osmemory.c', 'src/cgroup.c', 'src/procfile.c');
