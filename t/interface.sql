-- The interface as it is documented: names, arguments, columns, types,
-- defaults, marks and privileges. Dashboards depend on each of them.

BEGIN;

SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pgbufprobe;
SET LOCAL intervalstyle = postgres;

SELECT plan(18);

CREATE TEMP VIEW members AS
SELECT p.*, p.oid::regprocedure::text AS signature
  FROM pg_proc p
  JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
  JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
 WHERE d.deptype = 'e' AND e.extname = 'pgbufprobe';

CREATE FUNCTION pg_temp.arguments(function regprocedure) RETURNS text
LANGUAGE sql AS 'SELECT pg_get_function_arguments(function)';
CREATE FUNCTION pg_temp.result(function regprocedure) RETURNS text
LANGUAGE sql AS 'SELECT pg_get_function_result(function)';

-- Marks are compared as one row a function: the planner and parallel workers
-- rely on them, so a change must be meant.
SELECT results_eq(
    $$ SELECT signature COLLATE "C", provolatile::text, proisstrict, proparallel::text,
              proretset, prosecdef
         FROM members ORDER BY 1 $$,
    $$ VALUES
       ('pgbufprobe_clock()'::text COLLATE "C",            'v', true,  's', false, false),
       ('pgbufprobe_clock_rate(interval)',                 'v', false, 'r', false, false),
       ('pgbufprobe_relations()',                          'v', true,  's', true,  false),
       ('pgbufprobe_scan_cost(integer)',                   'v', false, 'r', true,  false),
       ('pgbufprobe_sweep_cost(integer,text)',             'v', false, 'r', true,  false),
       ('pgbufprobe_usagecount_histogram(regclass)',       'v', false, 's', true,  false) $$,
    'the functions, their volatility, strictness, parallel marks and whether they return sets');

SELECT is(pg_temp.arguments('pgbufprobe_sweep_cost(integer,text)'),
    'victims integer DEFAULT 1000, scenario text DEFAULT NULL::text, '
    'OUT scenario text, OUT victims bigint, OUT avg_us double precision, '
    'OUT p50_us double precision, OUT p95_us double precision, '
    'OUT p99_us double precision, OUT max_us double precision, '
    'OUT inspected_per_victim double precision, OUT inspected_max bigint, '
    'OUT inspected bigint, OUT passes double precision, '
    'OUT ns_per_buffer double precision, OUT ms_per_pass double precision, '
    'OUT ms_per_gb double precision, OUT from_freelist bigint, '
    'OUT skipped_pinned bigint, OUT dirty_victims bigint, '
    'OUT total_ms double precision',
    'arguments of pgbufprobe_sweep_cost');
SELECT is(pg_temp.result('pgbufprobe_sweep_cost(integer,text)'), 'SETOF record',
    'result of pgbufprobe_sweep_cost');

SELECT is(pg_temp.arguments('pgbufprobe_scan_cost(integer)'),
    'rounds integer DEFAULT 5, '
    'OUT method text, OUT models text, OUT avg_ms double precision, '
    'OUT min_ms double precision, OUT max_ms double precision, '
    'OUT ms_per_gb double precision, OUT ns_per_buffer double precision, '
    'OUT buffers bigint, OUT matched bigint, OUT rounds bigint',
    'arguments of pgbufprobe_scan_cost');
SELECT is(pg_temp.result('pgbufprobe_scan_cost(integer)'), 'SETOF record',
    'result of pgbufprobe_scan_cost');

SELECT is(pg_temp.arguments('pgbufprobe_usagecount_histogram(regclass)'),
    'relation regclass DEFAULT NULL::regclass, '
    'OUT usagecount integer, OUT buffers bigint, OUT bytes bigint, '
    'OUT dirty bigint, OUT pinned bigint, OUT fraction double precision',
    'arguments of pgbufprobe_usagecount_histogram');
SELECT is(pg_temp.result('pgbufprobe_usagecount_histogram(regclass)'), 'SETOF record',
    'result of pgbufprobe_usagecount_histogram');

SELECT is(pg_temp.arguments('pgbufprobe_relations()'),
    'OUT database name, OUT tablespace name, OUT relfilenode oid, OUT fork text, '
    'OUT relation regclass, OUT buffers bigint, OUT bytes bigint, '
    'OUT dirty bigint, OUT pinned bigint, OUT usagecount_avg double precision, '
    'OUT usagecounts bigint[]',
    'arguments of pgbufprobe_relations');
SELECT is(pg_temp.result('pgbufprobe_relations()'), 'SETOF record',
    'result of pgbufprobe_relations');

SELECT is(pg_temp.arguments('pgbufprobe_clock()'),
    'OUT taken_at timestamp with time zone, OUT buffers bigint, OUT hand bigint, '
    'OUT passes bigint, OUT ticks bigint, OUT allocations bigint',
    'arguments of pgbufprobe_clock');
SELECT is(pg_temp.result('pgbufprobe_clock()'), 'record',
    'result of pgbufprobe_clock');

SELECT is(pg_temp.arguments('pgbufprobe_clock_rate(interval)'),
    'duration interval DEFAULT ''00:00:05''::interval, '
    'OUT seconds double precision, OUT ticks bigint, OUT allocations bigint, '
    'OUT ticks_per_second double precision, '
    'OUT allocations_per_second double precision, '
    'OUT inspected_per_allocation double precision, '
    'OUT seconds_per_pass double precision',
    'arguments of pgbufprobe_clock_rate');
SELECT is(pg_temp.result('pgbufprobe_clock_rate(interval)'), 'record',
    'result of pgbufprobe_clock_rate');

SELECT is_empty(
    $$ SELECT signature FROM members
        WHERE coalesce(obj_description(oid, 'pg_proc'), '') = '' $$,
    'every function has a comment');

-- A NULL acl stands for the default, which lets everybody execute.
SELECT is_empty(
    $$ SELECT signature FROM members WHERE has_function_privilege('public', oid, 'EXECUTE') $$,
    'no function is executable by PUBLIC');

-- Readers are for pg_monitor. A function that moves shared state or loads the
-- machine would be missing here.
SELECT results_eq(
    $$ SELECT DISTINCT signature COLLATE "C", a.grantee::regrole::text, a.privilege_type, a.is_grantable
         FROM members, aclexplode(proacl) a
        WHERE a.grantee <> proowner ORDER BY 1 $$,
    $$ VALUES
       ('pgbufprobe_clock()'::text COLLATE "C",        'pg_monitor', 'EXECUTE', false),
       ('pgbufprobe_clock_rate(interval)',             'pg_monitor', 'EXECUTE', false),
       ('pgbufprobe_relations()',                      'pg_monitor', 'EXECUTE', false),
       ('pgbufprobe_scan_cost(integer)',               'pg_monitor', 'EXECUTE', false),
       ('pgbufprobe_sweep_cost(integer,text)',         'pg_monitor', 'EXECUTE', false),
       ('pgbufprobe_usagecount_histogram(regclass)',   'pg_monitor', 'EXECUTE', false) $$,
    'readers are granted to pg_monitor, nothing else is granted');

SELECT is_empty(
    $$ SELECT pg_describe_object(d.classid, d.objid, d.objsubid)
         FROM pg_depend d
         JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
        WHERE d.deptype = 'e' AND e.extname = 'pgbufprobe'
          AND (d.classid <> 'pg_proc'::regclass
               OR d.objid NOT IN (SELECT oid FROM members WHERE proname LIKE 'pgbufprobe\_%')) $$,
    'the extension makes functions only, and all their names begin with pgbufprobe_');

SELECT is(
    (SELECT extrelocatable FROM pg_extension WHERE extname = 'pgbufprobe'), true,
    'the extension can be moved to another schema');

SELECT * FROM finish();
ROLLBACK;
