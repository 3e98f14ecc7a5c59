/*-------------------------------------------------------------------------
 *
 * progress.c
 *	  How much of learning is done, and how long the rest takes.
 *
 * What is learned is followed by shares that chance lets fall at times.  The
 * largest one counts until knowledge is lost, or learning has ended.
 *
 *-------------------------------------------------------------------------
 */
#include "advice/internal.h"

/* Learning less than this says nothing about its pace. */
#define ENOUGH_PROGRESS		0.05

/* Learning has come so far, so many seconds later. */
void
pbp_follow_progress(Progress *progress, double share, double seconds)
{
	if (progress->share <= 0)
		*progress = (Progress) {.first_share = share};
	else
		progress->seconds += seconds;
	progress->share = fmax(progress->share, share);
}

/* At the pace since learning began.  NaN: unknown. */
double
pbp_seconds_left(const Progress *progress)
{
	double		done = progress->share - progress->first_share;

	if (done < ENOUGH_PROGRESS || progress->seconds <= 0 || progress->share >= MOST_PROGRESS)
		return NAN;
	return progress->seconds * (1 - progress->share) / done;
}
