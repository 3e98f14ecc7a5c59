# Writes and reads 10,000 generated cache maps, and damages each of them.

use strict;
use warnings;

use Programs;

run_unit_test('cache_map', 'src/cachemap.c');
