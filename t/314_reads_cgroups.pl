# Reads the memory of servers in cgroups out of folders that look like those of many hosts and containers.

use strict;
use warnings;

use Programs;

run_unit_test('cgroup', 't/unit/machine_tree.c', 'src/osmemory.c', 'src/cgroup.c', 'src/procfile.c');
