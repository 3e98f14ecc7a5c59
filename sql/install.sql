-- How the extension goes, and comes into another schema.
CREATE EXTENSION pgbufprobe;

-- goes without a trace, and may live in any schema
DROP EXTENSION pgbufprobe;
CREATE SCHEMA probes;
CREATE EXTENSION pgbufprobe SCHEMA probes;
SELECT count(*) = 1 AS answers FROM probes.pgbufprobe_clock();
DROP SCHEMA probes CASCADE;
