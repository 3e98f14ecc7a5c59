"""F: would several hands, or batches, change what the clock sweep evicts, and the time of a search?"""

from typing import Any

import psycopg

from pgbufprobe_lab.measure import pgbench, reads
from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.trial import Step, Trial
from pgbufprobe_lab.samples import SWEEPS
from pgbufprobe_lab.sizes import BLOCK, MB

POOL = 64 * MB  # in a large one, a batch is less than one page of the sampler's sample
TABLE_POOLS = 4
HOT_SHARE = 0.9  # of the pool: the pages that are hot at a time
SCANNED_SHARE = 1 / 64  # of the pool, by one request in 200
RATE = 8000  # requests a second, which the sampler follows
CLIENTS = 4
SECONDS = 30  # of load; policies are known when two pools have been read
SIMULATING = {
    "shared_preload_libraries": "pgbufprobe",
    "pgbufprobe.sampler": "on",
    "pgbufprobe.policies": "on",
}


def _scripts(pages: int) -> dict[str, list[tuple[str, int]]]:
    """Returns the scripts of each load, with their weights."""
    hot, scanned = int(pages / TABLE_POOLS * HOT_SHARE), int(pages / TABLE_POOLS * SCANNED_SHARE)
    read = "SELECT filler FROM pages WHERE ctid = '(:block,1)';\n"
    skewed = f"\\set block permute(random_zipfian(1, {pages}, 1.05) - 1, {pages})\n{read}"
    moving = f"\\set turn :turn + 1\n\\set block mod(:turn / 4 + random(0, {hot - 1}), {pages})\n{read}"
    scan = (
        f"\\set first random(0, {pages - scanned})\n"
        f"SELECT count(filler) FROM pages WHERE id >= :first AND id < :first + {scanned};\n"
    )
    return {
        "skewed": [(skewed, 1)],
        "moving": [(moving, 1)],
        "scans": [(skewed, 199), (scan, 1)],
    }


class F:
    name = "F"
    asks = "Would several hands, or batches, change what the clock sweep evicts, and the time of a search?"
    limited = False
    oldest_major = 15

    @staticmethod
    def _pages() -> int:
        return POOL * TABLE_POOLS // BLOCK

    def steps(self, plan: Plan) -> list[Step]:
        return [
            step
            for trial in range(1, plan.runs + 1)
            for step in (
                Step(f"{trial}/search", None, POOL, trial, 4),
                *(
                    Step(f"{trial}/{load}", None, POOL, trial, SECONDS + 3, {"load": load})
                    for load in _scripts(self._pages())
                ),
            )
        ]

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {
            "pool": POOL,
            "table_pages": self._pages(),
            "clients": CLIENTS,
            "requests_a_second": RATE,
            "seconds": SECONDS,
            "hot_share_of_pool": HOT_SHARE,
            "scanned_share_of_pool": SCANNED_SHARE,
            "runs": plan.runs,
        }

    def prepare(self, lab: Laboratory) -> None:
        with lab.loading() as connection:
            reads.make_pages(connection, "pages", self._pages())
            connection.execute("CREATE INDEX ON pages (id)")

    def measure(self, trial: Trial) -> None:
        if "load" not in trial.args:
            for line in trial.laboratory.installation.run_own("search_model").splitlines():
                policy, threads, ns = line.split("\t")
                trial.sample("search_ns", float(ns), "ns", int(threads), policy=policy)
            return
        with trial.server(SIMULATING) as server, server.connect() as connection:
            words = ["-D", "turn=0", "-R", str(RATE)]
            for number, (text, weight) in enumerate(_scripts(self._pages())[trial.args["load"]]):
                words += ["-f", f"{pgbench.script_file(server, f'f{number}', text)}@{weight}"]
            pgbench.run(server, CLIENTS, SECONDS, *words)
            for policy, ratio, change, low, high in _policies(connection):
                trial.sample("miss_ratio", ratio, "share", load=trial.args["load"], policy=policy)
                for stat, value in (("low", low), ("median", change), ("high", high)):
                    trial.sample("change", value, "share", load=trial.args["load"], policy=policy, stat=stat)


def _policies(connection: psycopg.Connection) -> list[tuple[str, float, float, float, float]]:
    """Returns miss ratio and change, with its interval, of the policies that are known at today's size."""
    return connection.execute(
        """SELECT policy, miss_ratio, change, change_low, change_high FROM pgbufprobe_policies()
           WHERE size_factor = 1 AND policy = ANY(%s) AND change_high IS NOT NULL""",
        [list(SWEEPS)],
    ).fetchall()


SCENARIO = F()
