# Compares the percentiles of src/latency.c with sorted times: right to 1 % for up to ten million times, in bounded
# memory.

use strict;
use warnings;

use Programs;

run_unit_test('latency', 'src/latency.c');
