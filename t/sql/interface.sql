-- The interface as it is documented: names, arguments, columns, types,
-- defaults, marks and privileges. Dashboards depend on each of them.

BEGIN;

SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pgbufprobe;
SET LOCAL intervalstyle = postgres;

SELECT plan(68);

CREATE TEMP VIEW members AS
SELECT p.*, p.oid::regprocedure::text AS signature
  FROM pg_proc p
  JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
  JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
 WHERE d.deptype = 'e' AND e.extname = 'pgbufprobe';

-- The planner and parallel workers rely on the marks. Readers are for pg_monitor; a function that moves shared state or
-- loads the machine is not.
CREATE TEMP TABLE documented (
    signature text COLLATE "C", volatility text, strict boolean, parallel text, reader boolean, result text, arguments text);
INSERT INTO documented VALUES
    ('pgbufprobe_advice()', 'v', true, 'r', true, 'SETOF record', $$
        OUT size_factor double precision, OUT shared_buffers_bytes bigint, OUT os_cache_bytes bigint, OUT fits text,
        OUT mark text, OUT miss_ratio double precision, OUT miss_ratio_low double precision,
        OUT miss_ratio_high double precision, OUT storage_ratio double precision, OUT storage_ratio_low double precision,
        OUT storage_ratio_high double precision, OUT read_ms_per_second double precision,
        OUT read_ms_low double precision, OUT read_ms_high double precision, OUT note text$$),
    ('pgbufprobe_advice_relations(double precision)', 'v', true, 'r', true, 'SETOF record', $$
        size_factor double precision DEFAULT 2, OUT database name, OUT relfilenode oid, OUT fork text,
        OUT relation regclass, OUT read_fraction double precision, OUT reads_saved bigint, OUT reads_saved_low bigint,
        OUT reads_saved_high bigint, OUT storage_reads_saved bigint, OUT storage_reads_saved_low bigint,
        OUT storage_reads_saved_high bigint, OUT working_set_bytes bigint, OUT working_set_bytes_low bigint,
        OUT working_set_bytes_high bigint, OUT read_again_fraction double precision, OUT note text$$),
    ('pgbufprobe_cache_map(regclass,text)', 'v', false, 'r', true, 'SETOF record', $$
        relation regclass DEFAULT NULL::regclass, fork text DEFAULT NULL::text, OUT relation regclass, OUT fork text,
        OUT map bytea$$),
    ('pgbufprobe_cache_restore(regclass,bytea,text,text,double precision)', 'v', false, 'u', false, 'record', $$
        relation regclass, map bytea, fork text DEFAULT 'main'::text, target text DEFAULT 'both'::text,
        mb_per_second double precision DEFAULT NULL::double precision, OUT requested bigint, OUT already_present bigint,
        OUT read bigint, OUT skipped bigint$$),
    ('pgbufprobe_checkup()', 'v', true, 'r', true, 'SETOF record', $$
        OUT topic text, OUT verdict text, OUT answer text, OUT action text, OUT detail text$$),
    ('pgbufprobe_clock(interval)', 'v', false, 'r', true, 'record', $$
        watch interval DEFAULT NULL::interval, OUT run text, OUT buffers bigint, OUT hand bigint, OUT passes bigint,
        OUT allocations bigint, OUT statistics_reset_at timestamp with time zone,
        OUT inspected_per_allocation double precision, OUT seconds_per_pass double precision$$),
    ('pgbufprobe_history(text)', 'v', true, 'r', true, 'SETOF record', $$
        resolution text DEFAULT 'fine'::text, OUT taken_at timestamp with time zone, OUT age_seconds double precision,
        OUT seconds double precision, OUT inspected_per_allocation double precision,
        OUT seconds_per_pass double precision, OUT usagecounts bigint[], OUT dirty bigint, OUT looks bigint,
        OUT cpu_fraction double precision, OUT accesses bigint, OUT miss_ratio double precision,
        OUT read_ms_per_second double precision, OUT scan_reads bigint, OUT scan_miss_ratio double precision,
        OUT scan_kept_ratio double precision, OUT top_relations text[], OUT top_read_fractions double precision[],
        OUT used_once_fraction double precision, OUT read_again_fraction double precision$$),
    ('pgbufprobe_history_reset()', 'v', true, 'u', false, 'void', ''),
    ('pgbufprobe_hours()', 'v', true, 'r', true, 'SETOF record', $$
        OUT hour timestamp with time zone, OUT seconds double precision, OUT in_decision boolean,
        OUT shared_buffers_bytes bigint, OUT work_ms_per_second double precision,
        OUT read_ms_per_second double precision, OUT best_bytes bigint, OUT saved_ms_per_second double precision,
        OUT saved_ms_low double precision, OUT saved_ms_high double precision$$),
    ('pgbufprobe_memory(text)', 'v', false, 'r', true, 'SETOF record', $$
        target text DEFAULT NULL::text, OUT memory_bytes bigint, OUT shared_buffers_bytes bigint,
        OUT os_cache_bytes bigint, OUT mark text, OUT storage_ratio double precision,
        OUT storage_ratio_low double precision, OUT storage_ratio_high double precision,
        OUT read_ms_per_second double precision, OUT read_ms_low double precision, OUT read_ms_high double precision,
        OUT note text$$),
    ('pgbufprobe_memory_consumers()', 'v', true, 'r', true, 'SETOF record', $$
        OUT consumer text, OUT today_bytes bigint, OUT most_bytes bigint, OUT reserved_bytes bigint, OUT note text$$),
    ('pgbufprobe_os_advise(regclass,text,text)', 'v', true, 'u', false, 'bigint', $$
        relation regclass, advice text, fork text DEFAULT 'main'::text$$),
    ('pgbufprobe_os_cache(regclass,text,text)', 'v', true, 'r', true, 'SETOF record', $$
        relation regclass, fork text DEFAULT 'main'::text, method text DEFAULT 'auto'::text, OUT segment integer,
        OUT bytes bigint, OUT cached_bytes bigint, OUT method text$$),
    ('pgbufprobe_policies()', 'v', true, 'r', true, 'SETOF record', $$
        OUT size_factor double precision, OUT policy text, OUT miss_ratio double precision,
        OUT miss_ratio_low double precision, OUT miss_ratio_high double precision, OUT change double precision,
        OUT change_low double precision, OUT change_high double precision, OUT saved_ms_per_second double precision,
        OUT saved_ms_low double precision, OUT saved_ms_high double precision, OUT note text$$),
    ('pgbufprobe_predictions()', 'v', true, 'r', true, 'SETOF record', $$
        OUT made_at timestamp with time zone, OUT from_bytes bigint, OUT to_bytes bigint,
        OUT miss_ratio double precision, OUT miss_ratio_low double precision, OUT miss_ratio_high double precision,
        OUT measured_miss_ratio double precision, OUT storage_ratio double precision,
        OUT storage_ratio_low double precision, OUT storage_ratio_high double precision,
        OUT measured_storage_ratio double precision, OUT held boolean, OUT note text$$),
    ('pgbufprobe_read_cost(regclass,integer,text)', 'v', true, 'u', false, 'SETOF record', $$
        relation regclass, samples integer DEFAULT 1000, fork text DEFAULT 'main'::text, OUT tier text, OUT reads bigint,
        OUT avg_us double precision, OUT p99_us double precision, OUT max_us double precision$$),
    ('pgbufprobe_relations(double precision)', 'v', false, 'r', true, 'SETOF record', $$
        sample_fraction double precision DEFAULT 1, OUT database name, OUT relfilenode oid, OUT fork text,
        OUT relation regclass, OUT buffers bigint, OUT buffers_low bigint, OUT buffers_high bigint, OUT dirty bigint,
        OUT usagecount_avg double precision, OUT usagecounts bigint[], OUT stay_seconds double precision$$),
    ('pgbufprobe_residency(regclass,integer,double precision)', 'v', false, 'r', true, 'SETOF record', $$
        relation regclass DEFAULT NULL::regclass, buckets integer DEFAULT 1, sample_fraction double precision DEFAULT 1,
        OUT relation regclass, OUT fork text, OUT first_block bigint, OUT blocks bigint, OUT shared_blocks bigint,
        OUT os_blocks bigint, OUT both_blocks bigint, OUT both_blocks_low bigint, OUT both_blocks_high bigint$$),
    ('pgbufprobe_scan_cost(integer,double precision)', 'v', false, 'r', true, 'SETOF record', $$
        rounds integer DEFAULT 5, sample_fraction double precision DEFAULT 1, OUT method text,
        OUT min_ms double precision, OUT max_ms double precision, OUT matched bigint$$),
    ('pgbufprobe_snapshot()', 'v', true, 'r', true, 'jsonb', ''),
    ('pgbufprobe_snapshot_diff(jsonb,jsonb,boolean)', 'v', false, 's', true, 'SETOF record', $$
        before jsonb, after jsonb DEFAULT pgbufprobe_snapshot(), by_relation boolean DEFAULT false, OUT relation text,
        OUT fork text, OUT usagecount integer, OUT from_buffers bigint, OUT to_buffers bigint, OUT from_dirty bigint,
        OUT to_dirty bigint, OUT passes double precision$$),
    ('pgbufprobe_start()', 'v', true, 'u', false, 'text', ''),
    ('pgbufprobe_status()', 'v', true, 'r', true, 'record', $$
        OUT sampler text, OUT since timestamp with time zone, OUT preloaded boolean, OUT cpu_fraction double precision,
        OUT sampled_fraction double precision, OUT learned_fraction double precision, OUT seconds_left double precision,
        OUT reads_seen bigint, OUT self_error double precision, OUT storage_self_error double precision,
        OUT recent_fraction double precision, OUT recent_fraction_low double precision,
        OUT recent_fraction_high double precision, OUT refaults_per_second double precision,
        OUT storage_reads_per_second double precision, OUT missed_fraction double precision, OUT carry_over text, OUT restored_fraction double precision,
        OUT restore_seconds_left double precision, OUT saved_at timestamp with time zone$$),
    ('pgbufprobe_stop()', 'v', true, 'u', false, 'text', ''),
    ('pgbufprobe_sweep_cost(integer,text)', 'v', false, 'r', true, 'SETOF record', $$
        victims integer DEFAULT 1000, scenario text DEFAULT NULL::text, OUT scenario text, OUT avg_us double precision,
        OUT p99_us double precision, OUT max_us double precision, OUT inspected bigint, OUT ms_per_pass double precision,
        OUT from_freelist bigint, OUT dirty_victims bigint$$),
    ('pgbufprobe_usagecount_histogram(regclass,double precision)', 'v', false, 's', true, 'SETOF record', $$
        relation regclass DEFAULT NULL::regclass, sample_fraction double precision DEFAULT 1, OUT usagecount integer,
        OUT buffers bigint, OUT buffers_low bigint, OUT buffers_high bigint, OUT dirty bigint$$),
    ('pgbufprobe_verdict()', 'v', true, 'r', true, 'record', $$
        OUT verdict text, OUT basis text, OUT today_bytes bigint, OUT advised_bytes bigint, OUT equal_from_bytes bigint,
        OUT equal_to_bytes bigint, OUT read_ms_per_second double precision, OUT saved_ms_per_second double precision,
        OUT saved_ms_low double precision, OUT saved_ms_high double precision, OUT work_ms_per_second double precision,
        OUT seconds double precision, OUT note text$$),
    ('pgbufprobe_working_set()', 'v', true, 'r', true, 'SETOF record', $$
        OUT minutes integer, OUT bytes bigint, OUT bytes_low bigint, OUT bytes_high bigint, OUT note text$$);

SELECT results_eq(
    $$ SELECT signature COLLATE "C", provolatile::text, proisstrict, proparallel::text, proretset, prosecdef
         FROM members ORDER BY 1 $$,
    $$ SELECT signature, volatility, strict, parallel, result LIKE 'SETOF %', false FROM documented ORDER BY 1 $$,
    'the functions, their volatility, strictness, parallel marks and whether they return sets');
SELECT is(pg_get_function_arguments(signature::regprocedure), btrim(regexp_replace(arguments, '\s+', ' ', 'g')),
    'arguments of ' || signature)
  FROM documented ORDER BY signature;
SELECT is(pg_get_function_result(signature::regprocedure), result, 'result of ' || signature)
  FROM documented ORDER BY signature;

SELECT results_eq(
    $$ SELECT count(DISTINCT oid), count(mode) <= 213,
              string_agg(name, ' ') FILTER (WHERE name ~ '^estd_|_error$' AND name NOT IN ('self_error', 'storage_self_error'))
         FROM members LEFT JOIN unnest(proargnames, proargmodes) AS argument(name, mode) ON mode = 'o' $$,
    $$ VALUES (28::bigint, true, NULL::text) $$,
    '28 functions have at most 213 columns, which are named in one way');

-- Programs find an answer by its topic.
SELECT results_eq(
    'SELECT topic FROM pgbufprobe_checkup()',
    ARRAY['size', 'pool', 'page lifetime', 'victim search', 'dirty victims', 'pool scans', 'cached twice', 'planner cache', 'memory'],
    'topics of pgbufprobe_checkup');

SELECT results_eq(
    $$ SELECT attname::text COLLATE "C", format_type(atttypid, NULL) COLLATE "C" FROM pg_attribute
        WHERE attrelid = 'pgbufprobe_double_buffering'::regclass AND attnum > 0 ORDER BY attnum $$,
    $$ VALUES ('database'::text COLLATE "C", 'name'::text COLLATE "C"), ('shared_bytes', 'bigint'), ('os_bytes', 'bigint'),
              ('both_bytes', 'bigint'), ('duplicate_fraction', 'double precision') $$,
    'columns of pgbufprobe_double_buffering');

SELECT results_eq(
    $$ SELECT concat_ws(' ', c.relname, a.grantee::regrole, a.privilege_type, a.is_grantable) COLLATE "C"
         FROM pg_class c, aclexplode(relacl) a
        WHERE relname LIKE 'pgbufprobe%' AND a.grantee <> relowner ORDER BY 1 $$,
    $$ SELECT concat(relname, ' pg_monitor SELECT f') COLLATE "C" FROM pg_class
        WHERE relname LIKE 'pgbufprobe%' AND relkind = 'v' ORDER BY 1 $$,
    'the views are granted to pg_monitor, and to nobody else');

SELECT is_empty(
    $$ SELECT relname FROM pg_class
        WHERE relname LIKE 'pgbufprobe%'
          AND coalesce(obj_description(oid, 'pg_class'), '') = '' $$,
    'each view has a comment');

SELECT is_empty(
    $$ SELECT signature FROM members
        WHERE coalesce(obj_description(oid, 'pg_proc'), '') = '' $$,
    'every function has a comment');

-- A NULL acl stands for the default, which lets everybody execute.
SELECT is_empty(
    $$ SELECT signature FROM members WHERE has_function_privilege('public', oid, 'EXECUTE') $$,
    'no function is executable by PUBLIC');

SELECT results_eq(
    $$ SELECT DISTINCT signature COLLATE "C", a.grantee::regrole::text, a.privilege_type, a.is_grantable
         FROM members, aclexplode(proacl) a
        WHERE a.grantee <> proowner ORDER BY 1 $$,
    $$ SELECT signature, 'pg_monitor', 'EXECUTE', false FROM documented WHERE reader ORDER BY 1 $$,
    'readers are granted to pg_monitor, nothing else is granted');

-- Types of tables and views are listed from 17 on.
SELECT results_eq(
    $$ SELECT DISTINCT CASE WHEN c.relname LIKE 'pgbufprobe\_metrics\_%' AND c.relkind = 'v' THEN 'a view for collectors'
                            WHEN c.relname IS NOT NULL THEN concat_ws(' ', c.relkind, c.relname)
                            WHEN p.proname LIKE 'pgbufprobe\_%' THEN 'a function'
                            ELSE pg_describe_object(d.classid, d.objid, d.objsubid) END COLLATE "C"
         FROM pg_depend d
         JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
         LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
         LEFT JOIN pg_type t ON d.classid = 'pg_type'::regclass AND d.objid = t.oid
         LEFT JOIN pg_type element ON element.typarray = t.oid
         LEFT JOIN pg_class c ON (d.classid = 'pg_class'::regclass AND d.objid = c.oid)
                              OR c.oid = coalesce(nullif(t.typrelid, 0), element.typrelid)
        WHERE d.deptype = 'e' AND e.extname = 'pgbufprobe' ORDER BY 1 $$,
    $$ VALUES ('a function'::text COLLATE "C"), ('a view for collectors'), ('v pgbufprobe_double_buffering') $$,
    'the extension makes functions and views, whose names all begin with pgbufprobe_');
SELECT is(
    (SELECT extconfig FROM pg_extension WHERE extname = 'pgbufprobe'), NULL,
    'it has no data of its own that a dump would carry');

SELECT is(
    (SELECT extrelocatable FROM pg_extension WHERE extname = 'pgbufprobe'), true,
    'the extension can be moved to another schema');

SELECT * FROM finish();
ROLLBACK;
