# What is predicted between the sizes of the advice, and when a prediction held, did not, or is undecided.

use strict;
use warnings;

use Programs;

run_unit_test('prediction', glob('src/prediction_*.c'), glob('src/advice*.c'));
