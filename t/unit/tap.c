/*
 * tap.c
 *	  The results of a test program, in TAP.
 */
#include <stdio.h>

#include "tap.h"

int			tests;

void
ok(bool passed, const char *what)
{
	printf("%sok %d - %s\n", passed ? "" : "not ", ++tests, what);
	fflush(stdout);
}
