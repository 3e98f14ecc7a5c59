# Walks through folders that are built like data directories, also while their files come and go.

use strict;
use warnings;

use Programs;

run_unit_test('datafiles', 'src/datafiles.c');
