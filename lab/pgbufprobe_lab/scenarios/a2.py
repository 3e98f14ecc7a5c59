"""A2: what does a clock sweep cost?"""

import statistics
from typing import Any

import psycopg

from .. import reads, sweeps
from ..lab import Lab, Step, trials
from ..plan import Plan
from ..sizes import BLOCK, GB

READS = 500
USES = 5                # of each page of the table that fills the pool
LEFT_UNUSED = 105       # buffers, as in the published histogram: the first reads need no victim
SWEPT = 0.5             # turns of the hand from which a read counts as one that swept


class State:
    """Where the hand is, and the histogram: usage count (None: unused) and buffers."""

    def __init__(self, connection: psycopg.Connection):
        row = connection.execute(
            """SELECT (SELECT ticks FROM pgbufprobe_clock()), array_agg(usagecount ORDER BY usagecount),
                      array_agg(buffers ORDER BY usagecount) FROM pgbufprobe_usagecount_histogram()"""
        ).fetchone()
        assert row
        self.ticks: int = row[0]
        self.histogram: dict[int | None, int] = dict(zip(row[1], row[2]))

    def passes_since(self, earlier: "State") -> float:
        return (self.ticks - earlier.ticks) / sum(self.histogram.values())


class A2:
    name = "A2"
    asks = "What does a turn of the clock sweep cost?"
    limited = True
    oldest_major = 15

    def steps(self, plan: Plan) -> list[Step]:
        return trials(plan, plan.pools, 1.5 + 2 * plan.memory / GB)

    def parameters(self, plan: Plan) -> dict[str, Any]:
        return {"pools": plan.pools, "reads": READS, "uses": USES, "left_unused": LEFT_UNUSED, "swept_from_passes": SWEPT}

    def prepare(self, lab: Lab) -> None:
        with lab.loading() as connection:
            reads.make_pages(connection, "hot", lab.plan.pools["large"] // BLOCK)
            reads.make_pages(connection, "other", READS)

    def measure(self, lab: Lab, step: Step) -> None:
        with lab.server(step.pool_bytes, {"bgwriter_lru_maxpages": 0}) as server, server.connect() as connection:
            with reads.Reader(connection, "other") as reader:
                reader.warm_up()
                State(connection)
                sweeps.replay_ms(connection)
                pages = self._fill(connection)
                self._read_other(lab, step, connection, reader)
            self._sweep_alone(lab, step, connection, pages)

    @staticmethod
    def _fill(connection: psycopg.Connection) -> int:
        """Brings the pool to where all of it is in heavy use, but for a few buffers that are unused."""
        pages = State(connection).histogram[None] - LEFT_UNUSED
        reads.load_range(connection, "hot", 0, pages, USES)
        return pages

    def _read_other(self, lab: Lab, step: Step, connection: psycopg.Connection, reader: reads.Reader) -> None:
        before = State(connection)
        timed: list[tuple[int, float, float]] = []
        event = 0
        for number in range(1, READS + 1):
            read = reader.read(number - 1)
            after = State(connection)
            passes = after.passes_since(before)
            timed.append((number, read.ms, passes))
            lab.sample("read_ms", read.ms, "ms", number, passes=passes)
            if passes >= SWEPT:
                event += 1
                self._record_event(lab, event, "read", number, passes, before, after)
            before = after
        self.events = event
        self._derive(lab, step, timed)

    @staticmethod
    def _record_event(
        lab: Lab, event: int, kind: str, number: int | None, passes: float, before: State, after: State
    ) -> None:
        for moment, state in (("before", before), ("after", after)):
            for usagecount, buffers in state.histogram.items():
                lab.sample("histogram", buffers, "buffers", usagecount, event=event, kind=kind, read=number, moment=moment,
                           passes=passes)

    def _derive(self, lab: Lab, step: Step, timed: list[tuple[int, float, float]]) -> None:
        """The cost of a turn as it was published: what reads that swept took longer than others."""
        swept = [(number, ms, passes) for number, ms, passes in timed if passes >= SWEPT]
        lab.sample("swept_reads", len(swept), "reads")
        excess = sweep_times(timed)
        for number, ms, passes in excess:
            lab.sample("sweep_read_ms", ms, "ms", number, passes=passes)
        if excess:
            self._record_pass(lab, step, "reads", statistics.median(ms / passes for _, ms, passes in excess))

    @staticmethod
    def _record_pass(lab: Lab, step: Step, method: str, ms: float) -> None:
        lab.sample("pass_ms", ms, "ms", method=method)
        lab.sample("ms_per_gb", ms * GB / step.pool_bytes, "ms/GB", method=method)

    def _sweep_alone(self, lab: Lab, step: Step, connection: psycopg.Connection, pages: int) -> None:
        """The same by the extension: replayed, and by the server's own search for victims."""
        reads.load_range(connection, "hot", 0, pages, USES)
        self._record_pass(lab, step, "replay", sweeps.replay_ms(connection))
        before = State(connection)
        self._record_pass(lab, step, "live", sweeps.live_ms(connection))
        after = State(connection)
        self._record_event(lab, self.events + 1, "live", None, after.passes_since(before), before, after)


def sweep_times(timed: list[tuple[int, float, float]]) -> list[tuple[int, float, float]]:
    """Of reads (number, ms, passes), those that swept, with what they took more than the median of the others."""
    others = [ms for _, ms, passes in timed if passes < SWEPT]
    if not others:
        return []
    usual = statistics.median(others)
    return [(number, ms - usual, passes) for number, ms, passes in timed if passes >= SWEPT]


SCENARIO = A2()
