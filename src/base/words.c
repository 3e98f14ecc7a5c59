/*-------------------------------------------------------------------------
 *
 * words.c
 *	  Numbers formatted for sentences.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "utils/timestamp.h"

#include "base/words.h"

/* In the unit of which there are 1 to 1024, with three significant digits and no final zeros. */
char *
pretty_bytes(int64 bytes)
{
	static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
	double		value = (double) bytes;
	int			unit = 0;

	while (value >= 1023.5 && unit < (int) lengthof(units) - 1)
	{
		value /= 1024;
		unit++;
	}
	return psprintf(value > 0 && value < 999.5 ? "%.3g %s" : "%.0f %s", value, units[unit]);
}

char *
pretty_size(int64 buffers)
{
	return pretty_bytes(buffers * BLCKSZ);
}

/* A size to be set, in the largest unit that states it exactly. */
char *
exact_size(int64 buffers)
{
	int64		kb = buffers * (BLCKSZ / 1024);

	return kb % (1024 * 1024) == 0 ? psprintf(INT64_FORMAT " GB", kb / (1024 * 1024)) :
		kb % 1024 == 0 ? psprintf(INT64_FORMAT " MB", kb / 1024) : psprintf(INT64_FORMAT " kB", kb);
}

/* Three significant digits, but all digits before the decimal point. */
char *
pretty_number(double value)
{
	int			decimals = !(value > 0) ? 0 : (int) Max(0, 2 - floor(log10(value)));

	return psprintf("%.*f", Min(decimals, 6), value);
}

/*
 * As far as it is between the least and the most that can be, with as many digits as the interval
 * needs, and at most three: "15.5 % (14.1 to 16.9)".
 */
char *
pretty_interval(double value, double error, double least, double most, const char *unit)
{
	double		low = Max(value - error, least);
	double		high = Min(value + error, most);
	double		half = (high - low) / 2;
	double		needed = half > 0 ? 1 - floor(log10(half)) : 6;
	double		possible = high > 0 ? 2 - floor(log10(high)) : 0;
	int			decimals = (int) Max(0, Min(Min(needed, possible), 6));

	return psprintf("%.*f %s (%.*f to %.*f)", decimals, Min(value, most), unit, decimals,
					low, decimals, high);
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
	return psprintf("%g of the last %g hours", floor(seen_seconds / (SECS_PER_HOUR / 10)) / 10,
					ceil(wanted_seconds / SECS_PER_HOUR));
}
