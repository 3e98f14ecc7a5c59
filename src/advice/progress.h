/*-------------------------------------------------------------------------
 *
 * progress.h
 *	  How much of learning is done, and how long the rest takes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_PROGRESS_H
#define PBP_PROGRESS_H

/* Share of learning that is reported at most before it ends. */
#define MOST_PROGRESS		0.99

/* What share was learned after so many seconds. */
typedef struct ProgressMark
{
	double		share;
	double		seconds;
} ProgressMark;

typedef struct Progress
{
	double		share;			/* of what must be seen; the largest so far */
	double		seconds;		/* since it was above 0 */
	ProgressMark before;		/* after a sixteenth to a quarter of these seconds */
	ProgressMark next;			/* where "before" will be */
} Progress;

extern void pbp_follow_progress(Progress *progress, double share, double seconds);
extern double pbp_seconds_left(const Progress *progress);

#endif							/* PBP_PROGRESS_H */
