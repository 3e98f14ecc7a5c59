/*-------------------------------------------------------------------------
 *
 * resize.c
 *	  Statements that set shared_buffers and prepare the restart: the sampler
 *	  starts with the server then, and both caches are carried over.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "miscadmin.h"
#include "postmaster/postmaster.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/varlena.h"

#include "answers/answers.h"
#include "base/settings.h"

/*
 * What ALTER SYSTEM would have no effect on, or who would undo it: managers of
 * clusters, such as Patroni and CloudNativePG, write files of these names.
 */
static const char *const origin_query =
	"SELECT CASE WHEN EXISTS (SELECT FROM pg_settings"
	"                          WHERE name IN ('shared_buffers', 'shared_preload_libraries')"
	"                            AND source IN ('command line', 'environment variable'))"
	"            THEN 'the command line'"
	"            WHEN EXISTS (SELECT FROM pg_settings"
	"                          WHERE (name = 'allow_alter_system' AND setting = 'off')"
	"                             OR sourcefile"
	"                                ~ '/(postgresql\\.base|custom|override|patroni.*)\\.conf$')"
	"            THEN 'the manager of this server'"
	"            WHEN NOT has_table_privilege('pg_file_settings', 'SELECT')"
	"              OR NOT has_function_privilege('pg_show_all_file_settings()', 'EXECUTE')"
	"            THEN 'the configuration'"
	"       END";

/* The last one counts, also if the server has not been restarted since. */
static const char *const libraries_query =
	"SELECT setting FROM pg_file_settings WHERE name = 'shared_preload_libraries'"
	" ORDER BY seqno DESC LIMIT 1";

/* The only value of a query, which is resolved in pg_catalog; NULL: none, or null. */
static char *
value_of(const char *query)
{
	MemoryContext caller = CurrentMemoryContext;
	int			nesting = NewGUCNestLevel();
	char	   *value = NULL;

	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	if (SPI_connect() != SPI_OK_CONNECT || SPI_execute(query, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not read the settings");
	if (SPI_processed > 0)
		value = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	if (value != NULL)
		value = MemoryContextStrdup(caller, value);
	SPI_finish();
	AtEOXact_GUC(false, nesting);
	return value;
}

/* As SHOW has it: exact, and without a space. */
static char *
setting_of(int64 buffers)
{
	char	   *size = exact_size(buffers);
	char	   *space = strchr(size, ' ');

	memmove(space, space + 1, strlen(space));
	return size;
}

/* Each library as a string of its own: in one string, they are the name of one. */
static char *
libraries_with_ours(const char *configured)
{
	List	   *libraries = NIL;
	ListCell   *cell;
	StringInfoData list;

	initStringInfo(&list);
	if (!SplitDirectoriesString(pstrdup(configured), ',', &libraries))
		return NULL;
	foreach(cell, libraries)
	{
		const char *library = lfirst(cell);
		const char *name = last_dir_separator(library);

		if (strcmp(name ? name + 1 : library, "pgbufprobe") == 0)
			return NULL;
		appendStringInfo(&list, "%s, ", quote_literal_cstr(library));
	}
	appendStringInfoString(&list, "'pgbufprobe'");
	return list.data;
}

/* What to do to give the pool another size. */
char *
resize_action(int64 buffers)
{
	const char *origin = value_of(origin_query);
	const char *configured;
	const char *libraries;
	StringInfoData lines;

	if (origin != NULL)
		return psprintf("In %s, set shared_buffers to %s%s%s, and restart the server.", origin,
						setting_of(buffers), pbp_sampler_is_preloaded() ? "" :
						", add pgbufprobe to shared_preload_libraries",
						pbp_carry_over_on ? "" : ", set pgbufprobe.carry_over to on");
	configured = value_of(libraries_query);
	libraries = libraries_with_ours(configured ? configured : "");
	initStringInfo(&lines);
	if (PBP_SERVER_MAJOR < 17 && !pbp_carry_over_on)
		appendStringInfoString(&lines, "LOAD 'pgbufprobe';\n");
	appendStringInfo(&lines, "ALTER SYSTEM SET shared_buffers = '%s';\n", setting_of(buffers));
	if (libraries != NULL)
		appendStringInfo(&lines, "ALTER SYSTEM SET shared_preload_libraries = %s;\n", libraries);
	if (!pbp_carry_over_on)
		appendStringInfoString(&lines, "ALTER SYSTEM SET pgbufprobe.carry_over = on;\n");
	appendStringInfo(&lines, "SELECT pg_reload_conf();\n-- Then restart the server on port %d.",
					 PostPortNumber);
	return lines.data;
}
