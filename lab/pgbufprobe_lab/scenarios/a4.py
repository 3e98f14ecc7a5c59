"""A4: does the size of the pool change what an update and its commit cost?"""

import time
from typing import Any

from .. import reads
from ..lab import Lab, Step, trials
from ..plan import Plan

UPDATES = 100


class A4:
    name = "A4"
    asks = "Does the size of the pool change what an update and its commit cost?"
    limited = True
    oldest_major = 15

    def steps(self, plan: Plan) -> list[Step]:
        return trials(plan, {name: plan.pools[name] for name in ("small", "large")}, 1.5)

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {"updates": UPDATES, "fillfactor": 50}

    def _pages(self, plan: Plan) -> int:
        """Each page is updated once: what is updated has another TID then."""
        return UPDATES * plan.trials * 2

    def prepare(self, lab: Lab) -> None:
        pages = self._pages(lab.plan)
        with lab.loading() as connection:
            connection.execute("CREATE TABLE halves (id integer, filler text) WITH (fillfactor = 50)")
            # More than enough rows of half a kilobyte, some a page.
            connection.execute(
                f"INSERT INTO halves SELECT i, repeat('x', 500) FROM generate_series(1, {pages * 10}) AS i"
            )
            connection.execute("VACUUM (FREEZE, ANALYZE) halves")

    def measure(self, lab: Lab, step: Step) -> None:
        turn = (step.trial or 1) - 1
        first = (turn * 2 + (step.pool == "large")) * UPDATES
        with lab.server(step.pool_bytes) as server, server.connect() as connection:
            reads.load_range(connection, "halves", first, UPDATES)
            connection.autocommit = False
            for number, block in enumerate(range(first, first + UPDATES), 1):
                plan = reads.plan_of(
                    connection, f"UPDATE halves SET filler = repeat('y', 500) WHERE ctid = '({block},1)'"
                )
                # EXPLAIN shows no rows of an UPDATE, but those that it found below.
                if plan["Plan"]["Plans"][0]["Actual Rows"] != 1:
                    raise RuntimeError(f"there is no row ({block},1)")
                begun = time.perf_counter()
                connection.commit()
                committed = (time.perf_counter() - begun) * 1000
                lab.sample("update_ms", plan["Execution Time"], "ms", number)
                lab.sample("commit_ms", committed, "ms", number)


SCENARIO = A4()
