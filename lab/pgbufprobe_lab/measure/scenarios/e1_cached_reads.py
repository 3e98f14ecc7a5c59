"""E1: how do cached reads scale with the number of clients?"""

from typing import Any

from pgbufprobe_lab.measure import pgbench
from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.server import Server
from pgbufprobe_lab.measure.trial import Step, Trial
from pgbufprobe_lab.sizes import BLOCK, MB

PUBLISHED_SCALE = 1000
CLIENTS = (1, 2, 4, 8, 16)
PUBLISHED_CLIENTS = (1, 2, 4, 8, 16, 32, 48, 64, 80, 100, 128)
SPAN = 10_000  # accounts that each transaction counts
SCALE_BYTES = 15 * MB  # accounts and their index


class E1:
    name = "E1"
    asks = "How do cached reads scale with the number of clients?"
    limited = False
    oldest_major = 15

    def _scale(self, plan: Plan) -> int:
        """The pool must hold all data and take at most half of the RAM."""
        return max(1, min(plan.profile.read_scale, int(plan.ram * 0.5 / 1.1) // SCALE_BYTES))

    def _pool(self, plan: Plan) -> int:
        return int(self._scale(plan) * SCALE_BYTES * 1.1 + 32 * MB) // BLOCK * BLOCK

    def steps(self, plan: Plan) -> list[Step]:
        each = plan.profile.e_seconds + 0.5
        return [
            Step(
                str(trial),
                None,
                self._pool(plan),
                trial,
                2 + self._scale(plan) * 0.05 + each * len(self._clients(plan)),
            )
            for trial in range(1, plan.runs + 1)
        ]

    @staticmethod
    def _clients(plan: Plan) -> tuple[int, ...]:
        return PUBLISHED_CLIENTS if plan.profile.name == "published" else CLIENTS

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {
            "scale": self._scale(plan),
            "published_scale": PUBLISHED_SCALE,
            "clients": self._clients(plan),
            "seconds": plan.profile.e_seconds,
            "accounts_a_transaction": SPAN,
            "runs": plan.runs,
        }

    def prepare(self, lab: Laboratory) -> None:
        with lab.loading_server() as server:
            server.client("pgbench", "-i", "-I", "dtgvp", "-q", "-s", str(self._scale(lab.plan)), "lab")

    def measure(self, trial: Trial) -> None:
        accounts = self._scale(trial.plan) * 100_000
        with trial.server({"max_connections": 200}) as server:
            warm(server)
            script = pgbench.script_file(
                server,
                "e1",
                f"\\set first random(1, {accounts - SPAN + 1})\n"
                f"SELECT count(abalance) FROM pgbench_accounts WHERE aid BETWEEN :first AND :first + {SPAN - 1};\n",
            )
            for clients in self._clients(trial.plan):
                pgbench.record(trial, server, clients, trial.plan.profile.e_seconds, "-f", script)


def warm(server: Server) -> None:
    """Reads all accounts and their index into the pool, by an index scan, which uses no ring."""
    with server.connect() as connection:
        connection.execute("SET enable_seqscan = off")
        connection.execute("SET enable_bitmapscan = off")
        connection.execute("SET enable_indexonlyscan = off")
        connection.execute("SELECT count(abalance) FROM pgbench_accounts WHERE aid > 0")
        # The background writer reports allocations once per round. These must not count later.
        connection.execute("SELECT pg_sleep(0.5)")


SCENARIO = E1()
