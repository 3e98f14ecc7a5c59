/*-------------------------------------------------------------------------
 *
 * sentences.h
 *	  All that the checkup says, as templates for psprintf().
 *
 * SAY_* are answers, of at most MAX_ANSWER bytes with usual figures; MORE_* are
 * their details; IF_* and SEE_* are comments above the statements of an action; the
 * others are actions, reasons, and parts of these.  Report and console show these
 * sentences as they are.  Reasons that the notes of other functions have in common
 * with the checkup are in reasons.c and memoryfuncs.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PBP_SENTENCES_H
#define PBP_SENTENCES_H

/* ---- of all topics ---- */

#define SAY_UNKNOWN			"Unknown: %.*s."
#define ASK_AGAIN			"Let the real workload run longer and ask again."
#define ASK_IN				"Ask again in about %s."
#define TURN_OS_CACHE_ON	"Set pgbufprobe.os_cache to on and reload the settings."
#define TURN_SAMPLER_ON		"Set pgbufprobe.sampler to on and reload the settings."
#define START_SAMPLER		"Start the sampler by pgbufprobe_start(), which needs no restart."
#define ASK_TO_START		"%s starts the sampler without a restart. A superuser may call it, " \
	"or a role to which %s has granted EXECUTE."

/* ---- size ---- */

#define SAY_WATCHED			"Too early: watched for %d s of at least %d."
#define ASK_IN_SECONDS		"Ask again in %d s."
#define SAY_IDLE			"Too early: hardly any load yet, and no page has been evicted."
#define SAY_EARLY			"Too early: %.0f %% of the reads needed have been seen."
#define SAY_RESTARTED		"Too early after the restart; the detail has the answer before it."
#define MORE_RESTARTED		"The answer %s: %s"
#define SAY_UNSURE			"Not certain enough to change: keep %s for now."
#define MORE_UNSURE			"With %s, there would be %s as much %s as today%s."
#define BEST_OF_MANY		", but chance favors the best of many sizes"
#define HOURS_UNKNOWN		"other sizes were known in too little of the hours"
#define NO_OTHER_SIZE		"no other size that fits has an estimate"

#define SAY_TAKE_WORK		"Take %s: sessions would work %s less time."
#define SAY_TAKE_WAIT		"Take %s: sessions would wait %s less for reads."
#define SAY_TAKE_STORAGE	"Take %s: %s fewer accesses wait for storage."
#define SAY_TAKE_READS		"Perhaps take %s: %s fewer accesses are reads."
#define MORE_TAKE			"Of the %s that the pool and the page cache have."
#define MORE_TAKE_TIME		"Sessions would wait %s for reads in each second instead of %s."
#define MORE_TAKE_SHARE		"%s of block accesses would %s instead of %s."

#define SAY_KEEP_UNUSED		"Keep %s so far: no page has been evicted yet."
#define MORE_KEEP_UNUSED	"%s are in use; only large scans have evicted pages, " \
	"from their ring buffers."
#define SAY_KEEP_FEW		"Keep %s: hardly anything is read."
#define MORE_KEEP_FEW		"Only %s of block accesses are reads."
#define SAY_KEEP_CACHED		"Keep %s: the page cache serves nearly all reads already."
#define SAY_KEEP_SHORT_WAIT	"Keep %s: sessions hardly wait for reads."
#define SAY_KEEP_ALONE		"Keep %s: no other size has an estimate."
#define SAY_KEEP_EQUAL		"Keep %s: %s to %s are equally good."
#define SAY_KEEP_LITTLE		"Keep %s: no size that fits saves enough %s to matter."
#define SAY_KEEP_ERROR		"Keep %s: no size saves more %s than the error."
#define MORE_BEST			"With %s it would be %s."

#define TODAY_TIME			"Today sessions wait %s for reads in each second."
#define TODAY_STORAGE		"Today %s of block accesses wait for storage."
#define TODAY_READS			"Today %s of block accesses are reads."

#define MORE_EQUAL			"%s to %s are equally good."
#define MORE_SMALLER		"If the memory is needed elsewhere, %s is enough."
#define MORE_AVOIDED		"%s would avoid %.0f %% of the reads, but %s."
#define BUT_WAIT			"sessions would hardly wait less"
#define BUT_UNKNOWN			"it is unknown yet how many of these wait for storage"
#define MORE_LARGER			"Larger sizes are unknown: %s."
#define MORE_TOO_LITTLE		"%s was known in too little of these hours."
#define MORE_NO_STORAGE		"It is unknown which reads wait for storage%s%s."
#define MORE_MGLRU			"This kernel evicts by MGLRU, " \
	"for which the simulation of the page cache is unproven."
#define MORE_PROBED			"Times are those of probes, " \
	"and less certain than the server's own with track_io_timing."
#define MORE_EVIDENCE		"Ranges are 95 %% intervals, " \
	"from %.0f reads in %s and %.2g %% of the pages."
#define MORE_HOURS			"Ranges are 95 %% intervals. Seen: %s."
#define MORE_UNCERTAIN		"They are uncertain: %s."

/* Needs no restart; what follows is a comment of its own line. */
#define TIME_READS \
	"-- The server's own times are more precise than those of probes:\n" \
	"ALTER SYSTEM SET track_io_timing = on;\nSELECT pg_reload_conf();\n"
#define THEN_ASK			TIME_READS "-- Let the real workload run, and ask again."
#define IF_IT_REMAINS		THEN_ASK "  If the answer remains:"
#define IF_THEY_WAIT \
	"-- Check with pgbufprobe_read_cost() whether reads wait for storage.\n" \
	"-- If they do, and the machine has the memory:"
#define IF_MEMORY_IS_NEEDED \
	"-- The page cache could hold all data, so the pool need not give memory back.\n" \
	"-- If the memory is needed elsewhere:"
#define SEE_MORE_HOURS		"-- Let the real workload run until %d hours have been seen\n" \
	"-- (pgbufprobe.decision_hours). If the answer remains:"
#define SEE_MORE			"-- Let the real workload run longer and ask again. " \
	"If the answer remains:"

#define SET_BY_OTHERS		"In %s, set shared_buffers to %s%s%s, and restart the server."
#define AND_PRELOAD			", add pgbufprobe to shared_preload_libraries"
#define AND_CARRY_OVER		", set pgbufprobe.carry_over to on"
#define THEN_RESTART		"-- Then restart the server on port %d."

/* ---- the pool ---- */

#define SAY_FULL			"Full: all %s are in use."
#define SAY_NOT_FULL		"%s full: %s of %s are free."
#define NEVER_EVICTED		"No page has been evicted since the server started."

#define SAY_STAY			"A page that is not used again stays %s on average."
#define MORE_STAY			"The clock hand completes a pass in %s, " \
	"and each pass lowers the usage count of a page by one."
#define SAY_FREE_FIRST		"No page is evicted before %s of free buffers are used."
#define SAY_NOT_EVICTED		"No page was evicted in the last %s."
#define TOO_SHORT			"no page was evicted in %s, too short for an estimate"

/* ---- what it costs ---- */

#define NOTHING_TO_NOTICE	"Nothing to notice: "

#define SAY_SEARCH			"%s%s us for each search now, %s ms at worst."
#define SAY_SEARCH_FREE		NOTHING_TO_NOTICE "the next searches take free buffers."
#define SAY_SEARCH_LONG		"The next search takes more than %s ms."
#define MORE_SEARCH			"The longest of the next " INT64_FORMAT " searches takes %s us."
#define MORE_SEARCH_LONG	"It inspects more than " INT64_FORMAT " buffers."
#define MORE_WORST \
	"At worst, with every page at the highest usage count, one search would take %s ms " \
	"(best of %d runs; slowest: %s ms)."
#define ALL_IN_USE \
	"Nearly all pages are in constant use, so each search inspects many buffers. " \
	"Enlarge the pool until it holds all of these pages, or shrink it to shorten a pass. " \
	"pgbufprobe_advice() estimates the reads at each size."

#define SAY_CLEAN			"No: none of the next " INT64_FORMAT " victims is dirty."
#define SAY_DIRTY			"Perhaps: " INT64_FORMAT " of the next " INT64_FORMAT \
	" victims are dirty."
#define MORE_DIRTY			"A session that needs such a buffer must write the page first, " \
	"unless the background writer or a checkpoint already has."
#define VICTIM_TOO_FAR		"the next victim is too far ahead of the clock hand"
#define WRITE_SOONER \
	"If sessions do write pages (\"buffers_backend\" in pg_stat_bgwriter; from PostgreSQL 17 on, " \
	"\"writes\" of client backends in pg_stat_io), raise bgwriter_lru_maxpages or lower " \
	"bgwriter_delay."

#define SAY_SCANS			"%s%s ms for each DROP, %s for a checkpoint."
#define MORE_SCANS \
	"Each DROP or TRUNCATE of a table, and each checkpoint, scans all %d buffer descriptors " \
	"(best of %d runs; slowest: %s and %s ms)."
#define DROP_TOGETHER		"If you drop or truncate many tables, do so in one transaction, " \
	"which scans the pool once for all of them."

/* ---- the page cache ---- */

#define SAY_TWICE			"%s of %s is in the page cache, too%s."
#define SIZE_COUNTS_IT		"; the size counts that"
#define MORE_TWICE_SAMPLE	"%.1f to %.1f %% of the pages in use are also in the page cache, " \
	"from a sample of " INT64_FORMAT "."
#define MORE_TWICE_ALL		"All pages in use were looked up in the page cache."
#define NO_PAGES			"the pool holds no page"
#define NO_CACHE_STATE		"the state of the page cache is unavailable"
#define NOT_SHOWN			"None: this kernel or file system does not show its page cache."

#define SAY_PLANNER			"%s: effective_cache_size is %s, and both caches hold %s."
#define MORE_PLANNER		"%s in the pool and %s in the page cache, of which %s are in both.%s"
#define MORE_THAN_ALL		" Both are more than all relations have."
#define OS_CACHE_IS_OFF		"pgbufprobe.os_cache is off"
#define CACHE_IS_BYPASSED	"the server bypasses the page cache"
#define NO_KERNEL_MEMORY	"the kernel does not report its memory"
#define TWICE_UNKNOWN		"it is unknown which pages both caches hold"
#define SET_PLANNER			"Set effective_cache_size to %s and reload the settings. " \
	"It takes no memory; the planner then knows how likely a page is cached."

/* ---- memory ---- */

#define THIS_MACHINE		"a %s of %s with shared_buffers = %s"
#define SAY_LESS_MEMORY		"Less would do: %s."
#define MORE_LESS_MEMORY	"That leaves %.0f %% of the memory that both caches have today; " \
	"sessions would wait %s for reads in each second instead of %s."
#define LOWER_IN_STEPS		"If the memory is needed elsewhere, " \
	"lower the limit in steps and ask again after each."
#define SAY_MORE_MEMORY		"%s more would save %s of the %s time."
#define MORE_MORE_MEMORY	"No split of today's memory helps as much: " \
	"sessions would wait %s for reads in each second instead of %s."
#define CONSIDER_MACHINE	"Consider %s."
#define SAY_SAME_MEMORY		"Right: much less memory would cost time, and more would save little."
#define MORE_SAME_MEMORY	"Both caches have %s."
#define MORE_UNKNOWN_TOTAL	"What a total of %s would do is unknown: %s."
#define MORE_SEEN			"Seen: %s."
#define SIZE_UNKNOWN		"it is unknown yet which size of the pool is best"
#define WAITING_UNKNOWN		"it is unknown how long sessions wait for reads"

#endif							/* PBP_SENTENCES_H */
