"""A2: what does a pass of the clock sweep cost?"""

import statistics
from typing import Any

import psycopg

from pgbufprobe_lab.measure import clock_sweep, reads
from pgbufprobe_lab.measure.laboratory import Laboratory
from pgbufprobe_lab.measure.plan import Plan
from pgbufprobe_lab.measure.trial import Step, Trial, steps_by_trial
from pgbufprobe_lab.sizes import BLOCK, GB

READS = 500
USES = 5  # of each page of the table that fills the pool: the highest usage count
LEFT_UNUSED = 105  # buffers, as in the published histogram: the first reads evict nothing
SWEPT = 0.5  # passes from which a read counts as one that swept


class PoolState:
    """Buffers that the clock hand has passed, and buffers by usage count (None: unused)."""

    def __init__(self, connection: psycopg.Connection):
        row = connection.execute(
            """SELECT (SELECT passes * buffers + hand FROM pgbufprobe_clock()),
                      array_agg(usagecount ORDER BY usagecount), array_agg(buffers ORDER BY usagecount)
               FROM pgbufprobe_usagecount_histogram()"""
        ).fetchone()
        assert row
        self.passed: int = row[0]
        self.histogram: dict[int | None, int] = dict(zip(row[1], row[2], strict=True))

    def passes_since(self, earlier: "PoolState") -> float:
        return (self.passed - earlier.passed) / sum(self.histogram.values())


class A2:
    name = "A2"
    asks = "What does a pass of the clock sweep cost?"
    limited = True
    oldest_major = 15

    def steps(self, plan: Plan) -> list[Step]:
        return steps_by_trial(plan, plan.pools, 1.5 + 2 * plan.memory / GB)

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {
            "pools": plan.pools,
            "reads": READS,
            "uses": USES,
            "left_unused": LEFT_UNUSED,
            "swept_from_passes": SWEPT,
        }

    def prepare(self, lab: Laboratory) -> None:
        with lab.loading() as connection:
            reads.make_pages(connection, "hot", lab.plan.pools["large"] // BLOCK)
            reads.make_pages(connection, "other", READS)

    def measure(self, trial: Trial) -> None:
        with trial.server({"bgwriter_lru_maxpages": 0}) as server, server.connect() as connection:
            with reads.Reader(connection, "other") as reader:
                reader.warm_up()
                PoolState(connection)
                clock_sweep.replay_ms(connection)
                pages = self._fill(connection)
                events = self._read_other(trial, connection, reader)
            self._measure_pass(trial, connection, pages, events + 1)

    @staticmethod
    def _fill(connection: psycopg.Connection) -> int:
        """Raises all buffers but a few to the highest usage count."""
        pages = PoolState(connection).histogram[None] - LEFT_UNUSED
        reads.load_range(connection, "hot", 0, pages, USES)
        return pages

    def _read_other(self, trial: Trial, connection: psycopg.Connection, reader: reads.Reader) -> int:
        """Times reads of another table, which evict pages of the first. Returns how many swept."""
        before = PoolState(connection)
        timed: list[tuple[int, float, float]] = []
        event = 0
        for number in range(1, READS + 1):
            read = reader.read(number - 1)
            after = PoolState(connection)
            passes = after.passes_since(before)
            timed.append((number, read.ms, passes))
            trial.sample("read_ms", read.ms, "ms", number, passes=passes)
            if passes >= SWEPT:
                event += 1
                self._record_event(trial, event, "read", number, passes, before, after)
            before = after
        self._derive(trial, timed)
        return event

    @staticmethod
    def _record_event(
        trial: Trial, event: int, kind: str, number: int | None, passes: float, before: PoolState, after: PoolState
    ) -> None:
        for moment, state in (("before", before), ("after", after)):
            for usagecount, buffers in state.histogram.items():
                trial.sample(
                    "histogram",
                    buffers,
                    "buffers",
                    usagecount,
                    event=event,
                    kind=kind,
                    read=number,
                    moment=moment,
                    passes=passes,
                )

    def _derive(self, trial: Trial, timed: list[tuple[int, float, float]]) -> None:
        """Derives the cost of a pass as published: the extra time of reads that swept."""
        swept = [(number, ms, passes) for number, ms, passes in timed if passes >= SWEPT]
        trial.sample("swept_reads", len(swept), "reads")
        excess = sweep_times(timed)
        for number, ms, passes in excess:
            trial.sample("sweep_read_ms", ms, "ms", number, passes=passes)
        if excess:
            self._record_pass(trial, "reads", statistics.median(ms / passes for _, ms, passes in excess))

    @staticmethod
    def _record_pass(trial: Trial, method: str, ms: float) -> None:
        trial.sample("pass_ms", ms, "ms", method=method)
        trial.sample("ms_per_gb", ms * GB / trial.step.pool_bytes, "ms/GB", method=method)

    def _measure_pass(self, trial: Trial, connection: psycopg.Connection, pages: int, event: int) -> None:
        """Measures a pass by the extension: replayed, and by the server's own search for victims."""
        reads.load_range(connection, "hot", 0, pages, USES)
        self._record_pass(trial, "replay", clock_sweep.replay_ms(connection))
        before = PoolState(connection)
        self._record_pass(trial, "live", clock_sweep.live_ms(connection))
        after = PoolState(connection)
        self._record_event(trial, event, "live", None, after.passes_since(before), before, after)


def sweep_times(timed: list[tuple[int, float, float]]) -> list[tuple[int, float, float]]:
    """Returns the reads (number, ms, passes) that swept, with their time above the median of the others."""
    others = [ms for _, ms, passes in timed if passes < SWEPT]
    if not others:
        return []
    usual = statistics.median(others)
    return [(number, ms - usual, passes) for number, ms, passes in timed if passes >= SWEPT]


SCENARIO = A2()
