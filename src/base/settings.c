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

#include "base/compat.h"
#include "base/settings.h"

bool		pbp_os_cache_on = true;

bool		pbp_sampler_on = true;
int			pbp_history_interval_ms = 10000;
double		pbp_max_cpu_fraction = 0.01;
int			pbp_advice_memory_kb = -1;
bool		pbp_policies_on = false;

int			pbp_decision_hours = 24;
uint32_t	pbp_decision_skip_mask = 0;
static char *decision_skip_hours = NULL;

bool		pbp_carry_over_on = false;
int			pbp_carry_over_interval_s = 300;
int			pbp_carry_over_rate_mb = 0;

/*
 * Reads a list such as "2-5, 22-24": each element begins with one hour and goes up
 * to another one that is not included, perhaps past midnight.  Returns false if it
 * is no such list, or leaves no hour.
 */
static bool
read_hours(const char *list, uint32 *mask)
{
	*mask = 0;
	if (list[strspn(list, " ")] == '\0')
		return true;
	if (list[strspn(list, "0123456789-, ")] != '\0')
		return false;
	for (;;)
	{
		char		from[3];
		char		to[3];
		int			length = 0;

		if (sscanf(list, " %2[0-9] - %2[0-9] %n", from, to, &length) != 2 ||
			atoi(from) > HOURS_PER_DAY || atoi(to) > HOURS_PER_DAY ||
			atoi(from) % HOURS_PER_DAY == atoi(to) % HOURS_PER_DAY)
			return false;
		for (int hour = atoi(from); hour % HOURS_PER_DAY != atoi(to) % HOURS_PER_DAY; hour++)
			*mask |= UINT32_C(1) << hour % HOURS_PER_DAY;
		list += length;
		if (*list == '\0')
			return *mask != (UINT32_C(1) << HOURS_PER_DAY) - 1;
		if (*list++ != ',')
			return false;
	}
}

static bool
check_skip_hours(char **value, void **extra, GucSource source pg_attribute_unused())
{
	uint32		mask;

	if (!read_hours(*value, &mask))
	{
		GUC_check_errdetail("Valid values are lists of hours such as \"2-5, 22-24\" that leave some hours of the day.");
		return false;
	}
	*extra = guc_malloc(LOG, sizeof(mask));
	if (*extra == NULL)
		return false;
	memcpy(*extra, &mask, sizeof(mask));
	return true;
}

static void
assign_skip_hours(const char *value pg_attribute_unused(), void *extra)
{
	memcpy(&pbp_decision_skip_mask, extra, sizeof(pbp_decision_skip_mask));
}

/* All can be changed by a reload, so a library that is loaded late defines them as well. */
void
pbp_define_settings(void)
{
	DefineCustomBoolVariable("pgbufprobe.os_cache",
							 "Enables queries of the kernel about its page cache.",
							 "If off, columns about the page cache are null, and neither functions nor the sampler read files for them.",
							 &pbp_os_cache_on, true,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);

	DefineCustomBoolVariable("pgbufprobe.sampler",
							 "Enables sampling of the buffer pool by a background worker.",
							 NULL, &pbp_sampler_on, true,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pgbufprobe.history_interval",
							"Sets the time between two samples of the history.",
							"If the clock hand moves fast, the sampler looks at the buffer pool more often for the advice.",
							&pbp_history_interval_ms, 10000, 100, SECS_PER_HOUR * 1000,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomRealVariable("pgbufprobe.max_cpu_fraction",
							 "Sets the maximum fraction of one CPU that the background worker uses.",
							 NULL, &pbp_max_cpu_fraction, 0.01, 0.0001, 1,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pgbufprobe.advice_memory",
							"Sets the maximum memory for estimating the effect of other shared_buffers sizes.",
							"-1 uses as much as needed, up to a thousandth of shared_buffers, or 512 kB if that is more; 0 disables the estimates.",
							&pbp_advice_memory_kb, -1, -1, PBP_MAX_ADVICE_KB,
							PGC_SIGHUP, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomBoolVariable("pgbufprobe.policies",
							 "Enables the simulation of other replacement policies.",
							 "The sampler needs up to half as much memory again.",
							 &pbp_policies_on, false,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);

	DefineCustomIntVariable("pgbufprobe.decision_hours",
							"Sets the number of hours that must have been seen before another shared_buffers size is advised.",
							"The decision is about so many last hours; 0 decides as soon as enough has been learned.",
							&pbp_decision_hours, 24, 0, 7 * HOURS_PER_DAY,
							PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("pgbufprobe.decision_skip_hours",
							   "Sets the hours of the day that do not count in the decision.",
							   "For example, \"2-5\" leaves out what happens from 02:00 to 05:00, in the time zone of log_timezone.",
							   &decision_skip_hours, "",
							   PGC_SIGHUP, 0, check_skip_hours, assign_skip_hours, NULL);

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

	MarkGUCPrefixReserved("pgbufprobe");
}

/* True if a setting of the sampler has changed since the last call. */
bool
pbp_sampler_settings_changed(void)
{
	static double known[8];
	const double now[lengthof(known)] = {
		pbp_os_cache_on, pbp_sampler_on, pbp_history_interval_ms, pbp_max_cpu_fraction,
		pbp_advice_memory_kb, pbp_policies_on, pbp_decision_hours, pbp_decision_skip_mask
	};
	bool		changed = memcmp(known, now, sizeof(now)) != 0;

	memcpy(known, now, sizeof(now));
	return changed;
}
