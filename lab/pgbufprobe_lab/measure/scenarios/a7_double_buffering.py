"""A7: how much memory does double buffering waste?"""

import statistics
from typing import Any

import psycopg

from pgbufprobe_lab.measure import reads
from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.trial import Step, Trial, steps_by_trial
from pgbufprobe_lab.sizes import BLOCK, GB

TABLE_SHARE = 1.2  # of the memory
READS = 1000
RANGES = tuple(range(10, 101, 10))
LEARNING_ROUNDS = range(6, 17)  # from the least to the most
PREDICTING = {"shared_preload_libraries": "pgbufprobe"}


class A7:
    name = "A7"
    asks = "How much memory does double buffering waste?"
    limited = True
    oldest_major = 15

    def steps(self, plan: Plan) -> list[Step]:
        return steps_by_trial(plan, plan.pools, 5 + 22 * plan.profile.a7_warming * plan.memory / GB)

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {
            "pools": plan.pools,
            "table_bytes": self._pages(plan) * BLOCK,
            "reads": READS,
            "ranges": RANGES,
            "warming_reads_per_page": plan.profile.a7_warming,
        }

    @staticmethod
    def _pages(plan: Plan) -> int:
        return int(plan.memory * TABLE_SHARE) // BLOCK

    def prepare(self, lab: Laboratory) -> None:
        with lab.loading() as connection:
            reads.make_pages(connection, "pages", self._pages(lab.plan))

    def measure(self, trial: Trial) -> None:
        total = self._pages(trial.plan)
        with trial.server(PREDICTING) as server, server.connect() as connection:
            with reads.Reader(connection, "pages") as reader:
                reader.warm_up()
                loaded = 0
                for percent in RANGES:
                    pages = total * percent // 100
                    # Load the new part of the range, then read at random until both caches have settled.
                    reads.load_range(connection, "pages", loaded, pages - loaded)
                    reads.load_random(connection, "pages", 0, pages, int(pages * trial.plan.profile.a7_warming))
                    loaded = pages
                    blocks = reads.random_blocks(f"{trial.step.key}/{percent}", pages, READS)
                    self._record(trial, percent, [reader.read(block) for block in blocks])
                    held = reads.residency(connection, "pages")
                    for cache in ("shared", "os", "both"):
                        trial.sample(f"{cache}_bytes", held[cache] * BLOCK, "bytes", percent)
            if trial.step.pool == "small" and trial.step.trial == 1:
                self._predict(trial, connection, total)

    @staticmethod
    def _record(trial: Trial, percent: int, found: list[reads.Read]) -> None:
        count = len(found)
        trial.sample("mean_ms", statistics.fmean(read.ms for read in found), "ms", percent)
        trial.sample("pool_miss_share", sum(read.tier != reads.SHARED for read in found) / count, "share", percent)
        trial.sample("storage_share", sum(read.tier == reads.STORAGE for read in found) / count, "share", percent)

    @staticmethod
    def _predict(trial: Trial, connection: psycopg.Connection, pages: int) -> None:
        """Reads the whole range until the advice has forgotten the narrower ones, and records what it predicts."""
        others = {pool: size for pool, size in trial.plan.pools.items() if pool != trial.step.pool}
        predicted: dict[int, float] = {}
        for done in range(LEARNING_ROUNDS.stop):
            if done in LEARNING_ROUNDS and predicted.keys() >= set(others.values()):
                break
            reads.load_random(connection, "pages", 0, pages, pages)
            predicted = reads.predicted_storage_shares(connection)
        for pool, size in others.items():
            if size in predicted:
                trial.sample(
                    "predicted_storage_share", predicted[size], "share", RANGES[-1], pool=pool, pool_bytes=size
                )


SCENARIO = A7()
