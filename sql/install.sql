-- What the extension brings, and who may use it.
CREATE EXTENSION pgbufprobe;

-- every function, as the catalog has it
SELECT p.oid::regprocedure AS function,
       p.provolatile AS volatility, p.proisstrict AS strict, p.proparallel AS parallel,
       has_function_privilege('public', p.oid, 'EXECUTE') AS for_public,
       has_function_privilege('pg_monitor', p.oid, 'EXECUTE') AS for_pg_monitor,
       obj_description(p.oid, 'pg_proc') IS NOT NULL AS has_comment
FROM pg_depend d
JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'pgbufprobe'
JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass
WHERE d.refclassid = 'pg_extension'::regclass
ORDER BY p.proname COLLATE "C";

-- goes without a trace, and may live in any schema
DROP EXTENSION pgbufprobe;
CREATE SCHEMA probes;
CREATE EXTENSION pgbufprobe SCHEMA probes;
SELECT count(*) = 1 AS answers FROM probes.pgbufprobe_clock();
DROP SCHEMA probes CASCADE;
