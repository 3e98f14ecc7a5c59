/*
 * tap.h
 *	  The results of a test program, in TAP.
 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>

extern int	tests;				/* done so far */

extern void ok(bool passed, const char *what);

#endif							/* TAP_H */
