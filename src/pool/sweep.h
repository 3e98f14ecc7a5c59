/*-------------------------------------------------------------------------
 *
 * sweep.h
 *	  The clock sweep and its hand.
 *
 * Offers the cost of searches for a victim buffer, replayed or live, and the
 * position of the hand.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SWEEP_H
#define PBP_SWEEP_H

#include "base/latency.h"

typedef enum PbpScenario
{
	PBP_CURRENT,
	PBP_WORST,
	PBP_LIVE
} PbpScenario;

#define PBP_SCENARIOS		(PBP_LIVE + 1)

/* The searches to time. */
typedef struct PbpSweepPlan
{
	PbpScenario scenario;
	int			victims;
	int64		max_inspected;	/* a replay stops after this number of buffers */
	int			start;			/* distance of a replay's hand ahead of the
								 * server's */
} PbpSweepPlan;

typedef struct PbpSweepCost
{
	PbpLatency	latency;		/* of every search that found a victim */
	int64		victims;		/* that were found */
	bool		stopped;		/* within a search, by max_inspected */
	int64		sweeps;			/* searches that moved the hand */
	double		sweep_ns;		/* their time, of a stopped one too */
	int64		inspected;		/* buffers that the hand passed */
	int64		from_freelist;	/* victims found without moving the hand */
	int64		dirty_victims;
} PbpSweepCost;

typedef struct PbpClock
{
	uint32		passes;			/* the server's counter, which wraps */
	int			hand;			/* the next buffer to be inspected */
} PbpClock;

/* How far the clock hand moved in a time. */
typedef struct PbpClockRate
{
	double		seconds;
	double		ticks;
	double		cpu_seconds;	/* that the sampler took meanwhile */
} PbpClockRate;

extern void pbp_sweep_cost(const PbpSweepPlan *plan, PbpSweepCost *cost);
extern PbpClock pbp_read_clock(void);
extern int64 pbp_ticks(PbpClock clock);
extern bool pbp_has_evicted(void);
extern int64 pbp_ticks_between(PbpClock from, PbpClock to);
extern PbpClockRate pbp_watch_clock(int64 duration_ms);
extern void pbp_map_descriptors(int first, int end);

#endif							/* PBP_SWEEP_H */
