/*-------------------------------------------------------------------------
 *
 * words.c
 *	  Numbers formatted for sentences.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "base/words.h"

char *
pretty_size(int64 buffers)
{
	return text_to_cstring(DatumGetTextPP(DirectFunctionCall1(pg_size_pretty,
															  Int64GetDatum(buffers * BLCKSZ))));
}

/* In whole blocks. */
char *
pretty_bytes(int64 bytes)
{
	return pretty_size(bytes / BLCKSZ);
}

/* Three significant digits, but all digits before the decimal point. */
char *
pretty_number(double value)
{
	int			decimals = !(value > 0) ? 0 : (int) Max(0, 2 - floor(log10(value)));

	return psprintf("%.*f", Min(decimals, 6), value);
}

char *
pretty_percent(double share)
{
	return psprintf("%s %%", pretty_number(100 * share));
}

char *
pretty_duration(double seconds)
{
	if (seconds < 90)
		return psprintf("%.1f s", seconds);
	if (seconds < 90 * SECS_PER_MINUTE)
		return psprintf("%.0f minutes", seconds / SECS_PER_MINUTE);
	return psprintf("%.1f hours", seconds / SECS_PER_HOUR);
}

/* Of the hours that were to be seen. */
char *
pretty_hours(double seen_seconds, double wanted_seconds)
{
	return psprintf("%g of the last %g hours", floor(seen_seconds / (SECS_PER_HOUR / 10)) / 10, ceil(wanted_seconds / SECS_PER_HOUR));
}
