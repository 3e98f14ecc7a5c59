# Follows the size of the page cache while the limits of machines and cgroups change.

use strict;
use warnings;

use Programs;

run_unit_test('capacity', 't/unit/machine_tree.c', 'src/capacity.c', 'src/osmemory.c', 'src/cgroup.c', 'src/procfile.c', glob('src/advice*.c'));
