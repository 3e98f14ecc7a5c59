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
#include <math.h>

#include "advice/progress.h"

/* Learning less than this share of what was left says nothing about its pace. */
#define ENOUGH_PROGRESS		0.05

/*
 * Learning has come so far, so many seconds later.  The first part of the time
 * does not count for the pace: much is often learned within moments.
 */
void
pbp_follow_progress(Progress *progress, double share, double seconds)
{
	ProgressMark now;

	if (progress->share <= 0)
		*progress = (Progress) {.before.share = share,.next.share = share};
	else
		progress->seconds += seconds;
	progress->share = fmax(progress->share, share);
	now = (ProgressMark) {progress->share, progress->seconds};
	if (now.seconds < 4 * progress->next.seconds)
		return;
	progress->before = progress->next;
	progress->next = now;
}

/* At the pace of most of the time.  NaN: unknown. */
double
pbp_seconds_left(const Progress *progress)
{
	double		done = progress->share - progress->before.share;
	double		seconds = progress->seconds - progress->before.seconds;

	if (done < ENOUGH_PROGRESS * (1 - progress->before.share) || seconds <= 0 || progress->share >= MOST_PROGRESS)
		return NAN;
	return seconds * (1 - progress->share) / done;
}
