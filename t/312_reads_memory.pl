# Reads the memory of servers out of folders that look like the /proc of many machines.

use strict;
use warnings;

use Programs;

run_unit_test('osmemory', 't/unit/machine_tree.c', 'src/osmemory.c', 'src/cgroup.c', 'src/procfile.c');
