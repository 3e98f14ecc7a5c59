/*-------------------------------------------------------------------------
 *
 * words.h
 *	  Numbers formatted for sentences.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_WORDS_H
#define PBP_WORDS_H

extern char *pretty_size(int64 buffers);
extern char *pretty_bytes(int64 bytes);
extern char *exact_size(int64 buffers);
extern char *pretty_number(double value);
extern char *pretty_interval(double value, double error, double least, double most,
							 const char *unit);
extern char *pretty_percent(double share);
extern char *pretty_duration(double seconds);
extern char *pretty_hours(double seen_seconds, double wanted_seconds);

#endif							/* PBP_WORDS_H */
