/*-------------------------------------------------------------------------
 *
 * settings.c
 *	  The settings: their names, defaults and limits.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/guc.h"
#include "utils/timestamp.h"

#include "base/settings.h"

bool		pbp_os_cache_on = true;

bool		pbp_sampler_on = true;
int			pbp_history_interval_ms = 10000;
int			pbp_history_size = 8640;
double		pbp_max_cpu_fraction = 0.01;
int			pbp_advice_memory_kb = -1;

bool		pbp_carry_over_on = false;
int			pbp_carry_over_interval_s = 300;
int			pbp_carry_over_rate_mb = 0;

/* The only setting that also applies where the library is not preloaded. */
void
pbp_define_session_settings(void)
{
	DefineCustomBoolVariable("pgbufprobe.os_cache",
							 "Enables queries of the kernel about its page cache.",
							 "If off, columns about the page cache are null, and neither functions nor the worker read files for them.",
							 &pbp_os_cache_on, true,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
}

static void
define_sampler_settings(void)
{
	DefineCustomBoolVariable("pgbufprobe.sampler",
							 "Enables sampling of the buffer pool by a background worker.",
							 NULL, &pbp_sampler_on, true,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pgbufprobe.history_interval",
							"Sets the time between two samples of the history.",
							"If the clock hand moves fast, the worker looks at the buffer pool more often for the advice.",
							&pbp_history_interval_ms, 10000, 100, SECS_PER_HOUR * 1000,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomRealVariable("pgbufprobe.max_cpu_fraction",
							 "Sets the maximum fraction of one CPU that the background worker uses.",
							 NULL, &pbp_max_cpu_fraction, 0.01, 0.0001, 1,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pgbufprobe.history_size",
							"Sets the number of samples that the history holds in shared memory.",
							NULL, &pbp_history_size, 8640, 10, 1000000,
							PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pgbufprobe.advice_memory",
							"Sets the maximum memory for estimating the effect of other shared_buffers sizes.",
							"-1 uses as much as needed, up to a thousandth of shared_buffers, or 512 kB if that is more; 0 disables the estimates.",
							&pbp_advice_memory_kb, -1, -1, PBP_MAX_ADVICE_KB,
							PGC_SIGHUP, GUC_UNIT_KB, NULL, NULL, NULL);
}

static void
define_carry_over_settings(void)
{
	DefineCustomBoolVariable("pgbufprobe.carry_over",
							 "Enables saving what both caches hold, and restoring it after a restart.",
							 NULL, &pbp_carry_over_on, false,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pgbufprobe.carry_over_interval",
							"Sets the time between two saves of what both caches hold.",
							"0 saves only when the server is shut down.",
							&pbp_carry_over_interval_s, 300, 0, SECS_PER_DAY,
							PGC_SIGHUP, GUC_UNIT_S, NULL, NULL, NULL);
	DefineCustomIntVariable("pgbufprobe.carry_over_rate",
							"Sets the maximum amount of data that is read per second to restore both caches.",
							"0 sets no limit.",
							&pbp_carry_over_rate_mb, 0, 0, 1000000,
							PGC_SIGHUP, GUC_UNIT_MB, NULL, NULL, NULL);
}

void
pbp_define_worker_settings(void)
{
	define_sampler_settings();
	define_carry_over_settings();
	MarkGUCPrefixReserved("pgbufprobe");
}
