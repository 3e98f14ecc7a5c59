-- The role of a collector: a member of pg_monitor that may use the extension in whatever schema it is.
--
--   psql -v role=NAME -f monitoring/role.sql DATABASE
--
-- DATABASE has the extension. The role is pgbufprobe_monitor if no name is given; it may be there already. It has no
-- password: \password NAME sets one. On a cluster with standbys, run this on the primary.
\set ON_ERROR_STOP on
\if :{?role}
\else
  \set role pgbufprobe_monitor
\endif
BEGIN;
-- Nothing of what follows is looked up in a schema in which others may create objects.
SET LOCAL search_path = pg_catalog, pg_temp;
DO $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'pgbufprobe') THEN
		RAISE EXCEPTION 'the extension "pgbufprobe" is not in this database'
			USING HINT = 'Run CREATE EXTENSION pgbufprobe first, or name another database.';
	END IF;
END
$$;
SELECT count(*) = 0 AS missing FROM pg_roles WHERE rolname = :'role' \gset
\if :missing
  CREATE ROLE :"role" LOGIN;
\endif
SELECT n.nspname AS schema, current_database() AS database
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pgbufprobe' \gset
GRANT pg_monitor TO :"role";
GRANT USAGE ON SCHEMA :"schema" TO :"role";
ALTER ROLE :"role" IN DATABASE :"database" SET search_path = :"schema";
ALTER ROLE :"role" IN DATABASE :"database" SET statement_timeout = '10s';
COMMIT;
