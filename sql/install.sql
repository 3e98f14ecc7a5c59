-- What the extension brings, and who may use it.
CREATE EXTENSION pgbufprobe;

-- has a comment for each function, and none is for everybody
SELECT p.oid::regprocedure AS function
FROM pg_depend d
JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'pgbufprobe'
JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass
WHERE d.refclassid = 'pg_extension'::regclass
AND (obj_description(p.oid, 'pg_proc') IS NULL OR has_function_privilege('public', p.oid, 'EXECUTE'));

-- goes without a trace, and may live in any schema
DROP EXTENSION pgbufprobe;
CREATE SCHEMA probes;
CREATE EXTENSION pgbufprobe SCHEMA probes;
SELECT count(*) = 1 AS answers FROM probes.pgbufprobe_clock();
DROP SCHEMA probes CASCADE;
