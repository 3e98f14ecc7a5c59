-- Usage counts of relations, against the buffers that pg_buffercache knows of them.
CREATE EXTENSION pgbufprobe;
CREATE EXTENSION pg_buffercache;

CREATE TABLE compared (id integer PRIMARY KEY, filler text) WITH (autovacuum_enabled = off);
INSERT INTO compared SELECT i, repeat('x', 500) FROM generate_series(1, 1000) i;
CREATE SEQUENCE compared_sequence;
SELECT nextval('compared_sequence');

-- Between both counts, nothing may use a page of these relations.
SELECT oid AS database FROM pg_database WHERE datname = current_database() \gset
SELECT r.name, h.usagecount, h.buffers, b.buffers AS in_pg_buffercache
FROM (VALUES ('compared'::regclass), ('compared_pkey'), ('compared_sequence'), ('pg_class'), ('pg_database')) r(name),
     LATERAL pgbufprobe_usagecount_histogram(r.name) h,
     LATERAL (SELECT count(*) AS buffers FROM pg_buffercache b
              WHERE b.relfilenode = pg_relation_filenode(r.name) AND b.usagecount = h.usagecount
                AND b.reldatabase IN (0, :database)) b
WHERE h.usagecount IS NOT NULL AND h.buffers <> b.buffers;

SELECT sum(buffers) = (SELECT count(*) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('compared')) AS all_forks
FROM pgbufprobe_usagecount_histogram('compared');

DROP TABLE compared;
DROP SEQUENCE compared_sequence;
DROP EXTENSION pg_buffercache;
DROP EXTENSION pgbufprobe;
