/*-------------------------------------------------------------------------
 *
 * sampler.h
 *	  The background worker: its registration and its entry point.  What it publishes is in history.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SAMPLER_H
#define PBP_SAMPLER_H

#include "sampler/history.h"

extern void pbp_sampler_register(void);
extern bool pbp_sampler_has_no_slot(void);
extern PGDLLEXPORT void pbp_sampler_main(Datum arg);

#endif							/* PBP_SAMPLER_H */
