"""A4: does the size of the pool change what an update and its commit cost?"""

import time
from typing import Any

from pgbufprobe_lab.measure import reads
from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.trial import Step, Trial, steps_by_trial

UPDATES = 100


class A4:
    name = "A4"
    asks = "Does the size of the pool change what an update and its commit cost?"
    limited = True
    oldest_major = 15

    def steps(self, plan: Plan) -> list[Step]:
        return steps_by_trial(plan, {name: plan.pools[name] for name in ("small", "large")}, 1.5)

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {"updates": UPDATES, "fillfactor": 50}

    def _pages(self, plan: Plan) -> int:
        """Each page is updated once, because an update changes the TID of its row."""
        return UPDATES * plan.trials * 2

    def prepare(self, lab: Laboratory) -> None:
        pages = self._pages(lab.plan)
        with lab.loading() as connection:
            connection.execute("CREATE TABLE halves (id integer, filler text) WITH (fillfactor = 50)")
            # Rows of half a kilobyte: several on each page, and more pages than needed.
            connection.execute(
                f"INSERT INTO halves SELECT i, repeat('x', 500) FROM generate_series(1, {pages * 10}) AS i"
            )
            connection.execute("VACUUM (FREEZE, ANALYZE) halves")

    def measure(self, trial: Trial) -> None:
        before = (trial.step.trial or 1) - 1
        first = (before * 2 + (trial.step.pool == "large")) * UPDATES
        with trial.server() as server, server.connect() as connection:
            reads.load_range(connection, "halves", first, UPDATES)
            connection.autocommit = False
            for number, block in enumerate(range(first, first + UPDATES), 1):
                plan = reads.explain_analyze(
                    connection, f"UPDATE halves SET filler = repeat('y', 500) WHERE ctid = '({block},1)'"
                )
                # The UPDATE node reports no rows; the scan below it does.
                if plan["Plan"]["Plans"][0]["Actual Rows"] != 1:
                    raise RuntimeError(f"there is no row ({block},1)")
                begun = time.perf_counter()
                connection.commit()
                committed = (time.perf_counter() - begun) * 1000
                trial.sample("update_ms", plan["Execution Time"], "ms", number)
                trial.sample("commit_ms", committed, "ms", number)


SCENARIO = A4()
