"""Verdicts on write-ups B, C and D, on VACUUM, indexes and row order."""

from __future__ import annotations

from pgbufprobe_lab.analysis import derive
from pgbufprobe_lab.analysis.medians import Samples, Summary, distinct, grouped, paired, pick, quotient, summarize
from pgbufprobe_lab.analysis.rules import UNKNOWN, Judged, Verdict, above, all_of, at_least, at_most
from pgbufprobe_page.formatting import size


def judge_b(samples: Samples) -> list[Verdict]:
    def ends(what: str) -> tuple[Summary | None, Summary | None]:
        groups = list(grouped(pick(samples, what=what), "x").values())
        return (groups[0], groups[-1]) if len(groups) > 1 else (None, None)

    names = ("smallest ring", "largest ring")
    (few, many), (short, long), (late, soon) = ends("vacuum_writes"), ends("checkpoint_buffers"), ends("vacuum_seconds")
    writes = above(few, many, 1.5, names, "writes")
    checkpoint = above(long, short, 1.5, names[::-1], "buffers")
    time = above(late, soon, 1.1, names, "s")
    return [
        Verdict(
            "With a larger ring, VACUUM writes less.",
            "with the smallest ring, VACUUM writes at least 1.5 times as often as with the largest",
            *writes,
        ),
        Verdict(
            "The next checkpoint writes the pages that VACUUM did not.",
            "after the largest ring the checkpoint writes at least 1.5 times as many buffers as after the smallest",
            *checkpoint,
        ),
        Verdict(
            "A larger ring shortens VACUUM.",
            "with the smallest ring, VACUUM takes at least 1.1 times as long as with the largest",
            *time,
        ),
    ]


def judge_c(samples: Samples) -> list[Verdict]:
    most = max(distinct(pick(samples, order="random"), "x"), default=None)

    def at_end(what: str, pool: str) -> Summary | None:
        return summarize(pick(samples, what=what, pool=pool, order="random", x=most))

    indexes, pools = at_end("index_bytes", "small"), derive.pool_sizes(samples)
    fits = indexes is not None and "small" in pools and indexes.median <= pools["small"]
    if fits:
        reads: Judged = (UNKNOWN, f"the indexes ({size(indexes.median)}) fit the small pool ({size(pools['small'])})")
        faster: Judged = reads
    else:
        reads = above(at_end("read", "small"), at_end("read", "large"), 10, ("small pool", "large pool"), "blocks read")
        faster = at_least(
            derive.index_growth(samples, "small"), 1.5, "small pool, time per index relative to the first:", "x"
        )
    linear = at_most(
        derive.index_growth(samples, "large"), 1.5, "large pool, time per index relative to the first:", "x"
    )
    rule = "random values: the time per index for all indexes, relative to the first one, is "
    return [
        Verdict(
            "With a pool smaller than the indexes, reads multiply.",
            "random values, all indexes: the small pool reads at least 10 times as many blocks as the large pool",
            *reads,
        ),
        Verdict("With such a pool, time grows faster than linearly with the indexes.", rule + "at least 1.5", *faster),
        Verdict("With a pool that holds them, time stays nearly linear.", rule + "at most 1.5", *linear),
    ]


def judge_d(samples: Samples) -> list[Verdict]:
    def reads(query: str, pool: str) -> Summary | None:
        return summarize(pick(samples, what="heap_blks_read", query=query, order="p_id", pool=pool, x=2))

    again = at_most(reads("c_id = 1", "small"), 0, "second run:", "blocks read")
    order = at_least(
        paired(derive.blocks_needed(samples, "p_id"), derive.blocks_needed(samples, "c_id"), quotient),
        5,
        "blocks, scattered / ordered rows:",
        "x",
    )
    many = all_of(
        [
            at_least(reads("c_id < 150", "small"), 1, "small pool:", "blocks read"),
            at_most(reads("c_id < 150", "large"), 0, "large pool:", "blocks read"),
        ]
    )
    return [
        Verdict(
            "The second run reads nothing.",
            "c_id = 1, small pool: no trial reads a block of the table in the second run",
            *again,
        ),
        Verdict(
            "The physical order determines how much cache a query needs.",
            "c_id = 1 uses at least 5 times as many blocks where its rows are scattered",
            *order,
        ),
        Verdict(
            "A query that needs more than the pool reads in each run; with a pool that holds its blocks, it does not.",
            "c_id < 150, second run: every trial with the small pool reads blocks, none with the large pool does",
            *many,
        ),
    ]
