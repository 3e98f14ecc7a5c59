"""A5: what does a checkpoint's search for dirty pages cost?"""

from typing import Any

from pgbufprobe_lab.measure import clock_sweep, reads
from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.trial import Step, Trial, steps_by_trial
from pgbufprobe_lab.sizes import BLOCK, GB

ROUNDS = 5


class A5:
    name = "A5"
    asks = "What does a checkpoint's search for dirty pages cost?"
    limited = True
    oldest_major = 15

    def steps(self, plan: Plan) -> list[Step]:
        return steps_by_trial(plan, plan.pools, 1.0 + plan.memory / GB)

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {"pools": plan.pools, "rounds": ROUNDS, "published": "derived from the clock sweep of A2"}

    def prepare(self, lab: Laboratory) -> None:
        with lab.loading() as connection:
            reads.make_pages(connection, "pages", lab.plan.pools["large"] // BLOCK)

    def measure(self, trial: Trial) -> None:
        with trial.server({"bgwriter_lru_maxpages": 0}) as server, server.connect() as connection:
            reads.load_range(connection, "pages", 0, trial.step.pool_bytes // BLOCK)
            rows = connection.execute(
                "SELECT method, min_ms, max_ms FROM pgbufprobe_scan_cost(%s)", [ROUNDS]
            ).fetchall()
            for method, least, most in rows:
                for stat, value in (("min", least), ("max", most)):
                    trial.sample("scan_ms", value, "ms", method=method, stat=stat)
                trial.sample("scan_ms_per_gb", least * GB / trial.step.pool_bytes, "ms/GB", method=method)
            for method, ms in (
                ("replay", clock_sweep.replay_ms(connection)),
                ("live", clock_sweep.live_ms(connection)),
            ):
                trial.sample("pass_ms", ms, "ms", method=method)
                trial.sample("ms_per_gb", ms * GB / trial.step.pool_bytes, "ms/GB", method=method)


SCENARIO = A5()
