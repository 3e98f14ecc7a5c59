# Percentiles are right to 1 % up to ten million times in bounded memory: src/latency.c compiled alone,
# compared with the sorted times by t/unit/latency.c, whose TAP is passed on.
use strict;
use warnings;

use Programs;

run_unit_test('latency');
