# Compares the predictions of src/advice*.c with a model of the server's clock sweep.

use strict;
use warnings;

use Programs;

run_unit_test('advice');
