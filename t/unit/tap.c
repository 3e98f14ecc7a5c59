/*
 * tap.c
 *	  The results of a test program, in TAP.
 */
#include <stdarg.h>
#include <stdio.h>

#include "tap.h"

int			tests;
static int	failures;

void
ok(bool passed, const char *what)
{
	okf(passed, "%s", what);
}

void
okf(bool passed, const char *format,...)
{
	va_list		arguments;

	printf("%sok %d - ", passed ? "" : "not ", ++tests);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	failures += !passed;
	fflush(stdout);
}

int
end_of_tests(void)
{
	printf("1..%d\n", tests);
	return failures > 0;
}
