-- What the benchmarks share: a table of samples, a table to fill the pool with, and a timer.

CREATE EXTENSION IF NOT EXISTS pgbufprobe;
CREATE EXTENSION IF NOT EXISTS pg_buffercache;
CREATE EXTENSION IF NOT EXISTS pg_prewarm;

CREATE SCHEMA bench;
CREATE TABLE bench.samples (what text, value double precision);

CREATE VIEW bench.medians AS
SELECT jsonb_object_agg(what, median) AS v
FROM (SELECT what, percentile_cont(0.5) WITHIN GROUP (ORDER BY value) AS median
      FROM bench.samples GROUP BY what) AS m;

-- One row per page, so that the table is filled quickly.
CREATE TABLE bench.filler (page text);
ALTER TABLE bench.filler ALTER COLUMN page SET STORAGE PLAIN;

CREATE FUNCTION bench.pool() RETURNS integer STABLE LANGUAGE sql
RETURN (SELECT setting::integer FROM pg_settings WHERE name = 'shared_buffers');

-- Creates a table so many times as large as the pool and fills the pool with it, except for catalog pages.
CREATE PROCEDURE bench.fill(pools numeric) LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE bench.filler;
    INSERT INTO bench.filler SELECT repeat('x', 7000) FROM generate_series(1, (pools * bench.pool())::integer);
    CHECKPOINT;
    PERFORM pg_prewarm('bench.filler');
END $$;

-- Milliseconds that a query takes inside the server.
CREATE FUNCTION bench.timed(command text) RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
    start timestamptz := clock_timestamp();
BEGIN
    EXECUTE command;
    RETURN 1000 * extract(epoch FROM clock_timestamp() - start);
END $$;

