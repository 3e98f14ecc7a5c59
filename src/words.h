/*-------------------------------------------------------------------------
 *
 * words.h
 *	  Figures as people read them in a sentence.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_WORDS_H
#define PBP_WORDS_H

/* Other libraries in the server may have functions of the same names. */
#pragma GCC visibility push(hidden)

extern char *size_of(int64 buffers);
extern char *measure(double value);
extern char *percent(double share);
extern char *duration(double seconds);

#pragma GCC visibility pop

#endif							/* PBP_WORDS_H */
