-- The interface as it is documented: names, arguments, columns, types, defaults, marks and privileges. Dashboards depend on
-- each of them, the planner and parallel workers on the marks. Readers are for pg_monitor; a function that moves shared state
-- or loads the machine is not. t/perl/Interface.pm reads which is which from the expected output.
SET client_min_messages = warning;
SET intervalstyle = postgres;
CREATE EXTENSION pgbufprobe;

CREATE VIEW members AS
SELECT d.classid, d.objid, p.* FROM pg_extension e
JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
WHERE e.extname = 'pgbufprobe';

-- To whom but the owner each function is granted, and with which arguments it returns what.
\pset format unaligned
SELECT proname AS function,
       concat_ws(' ', CASE provolatile WHEN 'v' THEN 'volatile' ELSE provolatile::text END, CASE WHEN proisstrict THEN 'strict' END,
           'parallel', proparallel, CASE WHEN prosecdef THEN 'security definer' END) AS marks,
       (SELECT string_agg(concat_ws(' ', CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END, a.privilege_type,
                                    CASE WHEN a.is_grantable THEN 'with grant option' END), ', ')
          FROM aclexplode(coalesce(proacl, acldefault('f', proowner))) a WHERE a.grantee <> proowner) AS granted,
       pg_get_function_result(oid) AS result, pg_get_function_arguments(oid) AS arguments
FROM members WHERE oid IS NOT NULL ORDER BY proname COLLATE "C";
\pset format aligned

-- No more than these, named in one way.
SELECT count(mode) <= 190 AS few_columns,
       string_agg(name, ' ') FILTER (WHERE name ~ '^estd_|_error$' AND name NOT IN ('self_error', 'storage_self_error')) AS misnamed
FROM members, unnest(proargnames, proargmodes) AS argument(name, mode) WHERE mode = 'o';

SELECT attname AS column, format_type(atttypid, NULL) AS type FROM pg_attribute
WHERE attrelid = 'pgbufprobe_double_buffering'::regclass AND attnum > 0 ORDER BY attnum;

-- Views without a comment, or with other privileges than that of pg_monitor to read them.
SELECT relname, granted FROM members JOIN pg_class c ON classid = 'pg_class'::regclass AND objid = c.oid,
     LATERAL (SELECT string_agg(concat_ws(' ', a.grantee::regrole, a.privilege_type, a.is_grantable), ', ') AS granted
              FROM aclexplode(relacl) a WHERE a.grantee <> relowner) acl
WHERE granted IS DISTINCT FROM 'pg_monitor SELECT f' OR obj_description(c.oid, 'pg_class') IS NULL;

-- What else there is. Types of tables and views are listed from 17 on.
SELECT DISTINCT CASE WHEN c.relname LIKE 'pgbufprobe\_metrics\_%' AND c.relkind = 'v' THEN 'a view for collectors'
                     WHEN c.relname IS NOT NULL THEN concat_ws(' ', c.relkind, c.relname)
                     WHEN m.proname LIKE 'pgbufprobe\_%' THEN 'a function'
                     ELSE pg_describe_object(classid, objid, 0) END COLLATE "C" AS member
FROM members m
LEFT JOIN pg_type t ON classid = 'pg_type'::regclass AND objid = t.oid
LEFT JOIN pg_type element ON element.typarray = t.oid
LEFT JOIN pg_class c ON (classid = 'pg_class'::regclass AND objid = c.oid) OR c.oid = coalesce(nullif(t.typrelid, 0), element.typrelid)
ORDER BY 1;

-- It can be moved to another schema, and has no data that a dump would carry.
SELECT extrelocatable, extconfig FROM pg_extension WHERE extname = 'pgbufprobe';

DROP VIEW members;
DROP EXTENSION pgbufprobe;
