-- Creates decoys in the schema public: operators for all pairs of types, functions for all of them, and implicit casts to a type
-- with operators of its own. Each raises the error "caught" when it runs. The setting decoys.words has words; those that name
-- functions of the server are the names of the functions.
DO $decoys$
DECLARE
	types text[] := '{integer, bigint, numeric, double precision, text, name, boolean, interval, timestamp with time zone, jsonb,
		oid, regclass, regprocedure, "\"char\"", aclitem[]}';
	operators text[] := '{+, -, *, /, %, ^, ||, ->, ->>, <, <=, =, <>, >=, >, ~~}';
	body text := 'LANGUAGE plpgsql AS ''BEGIN RAISE EXCEPTION ''''caught''''; END''';
	functions text[];
	one text;
	other text;
	what text;
BEGIN
	PERFORM set_config('search_path', 'pg_catalog', true);
	SELECT array_agg(DISTINCT proname::text) INTO functions FROM pg_proc
	 WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind IN ('f', 'a', 'w')
	   AND proname = ANY (string_to_array(current_setting('decoys.words'), ' '));
	CREATE TYPE public.decoy AS (x integer);
	FOREACH one IN ARRAY types LOOP
		FOREACH what IN ARRAY functions LOOP
			EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS %2$s %s', what, one, body);
		END LOOP;
		EXECUTE format('CREATE FUNCTION public.to_decoy(%s) RETURNS public.decoy %s', one, body);
		EXECUTE format('CREATE CAST (%s AS public.decoy) WITH FUNCTION public.to_decoy(%1$s) AS IMPLICIT', one);
	END LOOP;
	FOREACH one IN ARRAY array_append(types, 'public.decoy') LOOP
		FOREACH other IN ARRAY array_append(types, 'public.decoy') LOOP
			EXECUTE format('CREATE FUNCTION public.decoy(%s, %s) RETURNS %1$s %3$s', one, other, body);
			EXECUTE format('CREATE FUNCTION public.is_decoy(%s, %s) RETURNS boolean %s', one, other, body);
			FOREACH what IN ARRAY operators LOOP
				EXECUTE format('CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = public.%s)', what, one, other,
					CASE WHEN what ~ '[<=>~]' THEN 'is_decoy' ELSE 'decoy' END);
			END LOOP;
			FOREACH what IN ARRAY functions LOOP
				EXECUTE format('CREATE FUNCTION public.%I(%s, %s) RETURNS %2$s %4$s', what, one, other, body);
			END LOOP;
		END LOOP;
	END LOOP;
END
$decoys$;
