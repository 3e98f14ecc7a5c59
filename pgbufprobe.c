/*-------------------------------------------------------------------------
 *
 * pgbufprobe.c
 *	  Module entry point: magic block, settings, preloaded background workers.
 *
 * Nothing else depends on preloading: what processes share is made when it is
 * first asked for, and pgbufprobe_start() starts the sampler on a running server.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "base/compat.h"
#include "base/settings.h"
#include "carry/carry.h"
#include "sampler/history.h"

PBP_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	pbp_define_settings();
	if (!process_shared_preload_libraries_in_progress)
		return;
	pbp_sampler_register();
	pbp_carry_register();
}
