/*-------------------------------------------------------------------------
 *
 * look.h
 *	  A look at the pool: which buffers are read, so that the advice sees every
 *	  page that enters the pool and every use of a page of its sample.
 *
 * A look reads the buffers that the clock hand has passed since the last one,
 * those where the last one met pages of the sample, and those that it found
 * pinned.  It reads the whole pool only where that would miss something.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_LOOK_H
#define PBP_LOOK_H

#include "simulator/simulator.h"

/* Pinned buffers that a look can remember. */
#define PBP_MAX_PINNED		4096

/*
 * How buffers are read, in the order given.  For each one whose page is in the sample, the reader
 * calls pbp_look_page(); for any other that is pinned, pbp_look_pinned().
 */
typedef struct PbpLookReader
{
	void	   *arg;
	void		(*read_range) (void *arg, int first, int end);
	void		(*read_buffers) (void *arg, const int *buffers, int nbuffers);
} PbpLookReader;

typedef struct PbpPinnedList
{
	int			nbuffers;
	int			buffers[PBP_MAX_PINNED];
} PbpPinnedList;

typedef struct PbpLook
{
	PbpAdvice  *advice;
	PbpLookReader reader;
	bool		incomplete;		/* pages may have entered where the next look would not read */
	bool		whole;			/* this look reads the whole pool */
	PbpPinnedList pinned[2];	/* of this look and the last */
	uint64_t	number;

	/* next of the last look's buffers, in their order */
	uint32_t	next_known;
	int			next_pinned;

	/* checks of what looks miss */
	int64_t		check_ticks;	/* when the next one is due */
	int64_t		whole_ticks;	/* the last time the whole pool was read; -1: never */
	double		loads;			/* since then */
	double		missed;
	double		checked_loads;	/* by all checks, older ones weigh less */
	double		missed_loads;
} PbpLook;

extern void pbp_look_init(PbpLook *look, PbpAdvice *advice, const PbpLookReader *reader);

/* Ticks are buffers that the hand has passed, ever.  The reader runs in begin. */
extern void pbp_look_begin(PbpLook *look, int64_t ticks);
extern void pbp_look_end(PbpLook *look, int64_t ticks);

/* Pages may enter elsewhere than behind the hand, as from the free list. */
extern void pbp_look_is_incomplete(PbpLook *look);

/* Share of loads that looks missed, by checks; NaN: none yet. */
extern double pbp_look_missed_share(const PbpLook *look);

/* For the reader. */
extern bool pbp_look_page(PbpLook *look, uint64_t key, int buffer, int usage, bool dirty,
						  bool scanned);
extern void pbp_look_pinned(PbpLook *look, int buffer);

#endif							/* PBP_LOOK_H */
