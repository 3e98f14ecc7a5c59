/*
 * tap.h
 *	  The results of a test program, in TAP.
 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>

extern int	tests;				/* done so far */

extern void ok(bool passed, const char *what);

/* With a name as by printf(). */
extern void okf(bool passed, const char *format,...) __attribute__((format(printf, 2, 3)));

/* Returns the status with which the program should exit. */
extern int	end_of_tests(void);

#endif							/* TAP_H */
