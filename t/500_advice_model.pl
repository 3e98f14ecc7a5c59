# What src/advice.c says of other sizes of the pool is what pools of these sizes do: compiled alone, compared
# with a model of the server's clock sweep by t/unit/advice.c, whose TAP is passed on.
use strict;
use warnings;

use Programs;

run_unit_test('advice');
