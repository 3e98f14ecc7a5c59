"""The charts of each experiment, in the form of its published figures. Without samples, there is no chart."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from pgbufprobe_lab.analysis import derive
from pgbufprobe_lab.analysis.medians import Sample, Samples, Summary, distinct, grouped, pick, summarize
from pgbufprobe_lab.report.drawing import (
    Charts,
    chart_of_lines,
    colour_of,
    legend,
    lines_of,
    lines_of_pools,
    percent,
    pools,
    proportional,
    rows_of_parts,
    rows_of_trials,
)
from pgbufprobe_lab.samples import SWEEPS
from pgbufprobe_lab.sizes import MB
from pgbufprobe_page import Picture
from pgbufprobe_page.formatting import number, size, words
from pgbufprobe_page.svg import NARROW, WIDE, Axis, Line, Point, dots

SWEPT = 0.5  # passes from which a read counts as one that swept
RANGES = "Points are medians over the trials. Bands extend from the lowest to the highest trial."
EACH_TRIAL = "Each mark is the median of one trial."
TIERS = {"shared_buffers": "pool", "os_cache": "page cache", "storage": "storage"}
CLIENTS = Axis("clients", "doublings")


def chart_a1(samples: Samples) -> Charts:
    rows = {label: {"": pick(samples, what="hit_ms", pool=pool)} for pool, label in pools(samples).items()}
    caption = f"{EACH_TRIAL} Marks above each other mean that the size has no effect."
    return rows_of_trials("Time of a hit, by pool", caption, Axis("time of a hit (ms)"), rows)


def _reads(samples: Samples) -> Charts:
    reads = pick(samples, what="read_ms")
    trial = min(distinct(reads, "trial"), default=None)
    lines = []
    for pool, label in pools(samples).items():
        points = []
        for s in pick(reads, trial=trial, pool=pool):
            swept = (s.get("passes") or 0) >= SWEPT
            text = f"{label}, read {s['x']}: {number(s['value'])} ms" if swept else ""
            points += [Point(s["x"], s["value"], text=text)] if s["value"] > 0 else []
        lines += [Line(label, colour_of(pool), points)] if points else []
    if not lines:
        return []
    title = "Time of each read, with all pages of the pool in heavy use"
    caption = (
        f"Trial {trial}. Large marks are reads whose search for a victim visited at least half of the pool. Other slow "
        "reads have other causes, such as the disk or other programs."
    )
    axis, up = Axis("number of the read"), Axis("time of the read (ms, logarithmic)", "decades")
    drawn = tuple(dots(lines, axis, up, title, box) for box in (WIDE, NARROW))
    return [Picture(title, caption, drawn, legend(lines, "mark"))]


def _histograms(samples: Samples) -> Charts:
    rows: dict[str, dict[str, Summary]] = {}
    passes = []
    for event in derive.shown_events(samples):
        count = number(event["passes"])
        passes.append(f"{count} {'pass' if count == '1' else 'passes'} of the {event['pool']} pool")
        total = sum(event["before"].values())
        for moment in ("before", "after"):
            shares = {str(x): 100 * event[moment].get(x, 0.0) / total for x in range(6)}
            rows[f"{event['pool']}, {moment}"] = {name: Summary(v, v, v, 1) for name, v in shares.items()}
    caption = f"The clock hand made {words(passes)}. Each pass lowers the usage count of every page by one."
    colours = ("s0", "s1", "s2", "s3", "s4", "s5")
    title, axis = "Usage counts before and after one search", Axis("share of the pool (%)")
    return rows_of_parts(title, caption, axis, rows, colours, percent)


def chart_a2(samples: Samples) -> Charts:
    names = {"live": "server's own search", "replay": "replay", "reads": "timed reads"}
    groups = {name: pick(samples, what="pass_ms", method=method) for method, name in names.items()}
    return _reads(samples) + proportional("Cost of one pass", groups, "one pass (ms)") + _histograms(samples)


def chart_a3(samples: Samples) -> Charts:
    rows = {"pool": {"": derive.pool_hit(samples)}, "page cache": {"": derive.page_cache_hit(samples)}}
    title = "A read from the pool and one from the page cache"
    return rows_of_trials(title, EACH_TRIAL, Axis("one read (µs)"), rows, 1000)


def chart_a4(samples: Samples) -> Charts:
    charts = []
    for what, title, label in (
        ("update_ms", "UPDATE of one row", "UPDATE of one row (ms)"),
        ("commit_ms", "Its COMMIT", "its COMMIT (ms)"),
    ):
        rows = {name: {"": pick(samples, what=what, pool=pool)} for pool, name in pools(samples).items()}
        charts += rows_of_trials(f"{title}, by pool", EACH_TRIAL, Axis(label), rows)
    return charts


def chart_a5(samples: Samples) -> Charts:
    names = {"lock": "as in a checkpoint", "match": "as in DROP TABLE", "read": "as for a histogram"}
    scans = pick(samples, what="scan_ms", stat="min")
    groups = {name: pick(scans, method=method) for method, name in names.items()}
    return proportional("Cost of a scan of all buffers", groups, "one scan of the pool (ms)")


def chart_a6(samples: Samples) -> Charts:
    charts = []
    for case, title in (("hit", "all pages in the pool"), ("os", "a table that only the page cache holds")):
        lines = lines_of_pools(pick(samples, what="tps", case=case))
        charts += chart_of_lines(f"Throughput, {title}", RANGES, lines, CLIENTS, "reads per second")
    return charts


def chart_a7(samples: Samples) -> Charts:
    wanted = (
        (
            "storage_share",
            "Share of reads from storage",
            "reads from storage (%)",
            100.0,
            "Where a line rises above zero, both caches are full.",
        ),
        (
            "mean_ms",
            "Mean time of a read",
            "mean read (ms)",
            1.0,
            "A read from storage takes several times as long as one from either cache.",
        ),
        (
            "both_bytes",
            "Double buffering",
            "in both caches (MB)",
            1 / MB,
            "Pages of the table that are in the pool and in the page cache.",
        ),
    )
    axis = Axis("range that is read (% of the table)")
    charts = []
    for what, title, unit, factor, caption in wanted:
        lines = lines_of_pools(pick(samples, what=what), factor)
        charts += chart_of_lines(title, f"{caption} {RANGES}", lines, axis, unit, wide=what == "storage_share")
    return charts


def chart_a8(samples: Samples) -> Charts:
    shares = pick(samples, what="share", method="reads")
    rows: dict[str, dict[str, Summary | None]] = {}
    for pool, moment in product(pools(samples), ("before", "after")):
        found = {name: summarize(pick(shares, pool=pool, moment=moment, tier=tier)) for tier, name in TIERS.items()}
        rows[f"{pool}, {moment}"] = {name: share and share.scaled(100) for name, share in found.items()}
    caption = (
        "Where reads of table 1 found their pages, before and after a sequential scan of table 2. Medians over the "
        "trials."
    )
    return rows_of_parts("Where reads find their pages", caption, Axis("share of the reads (%)"), rows, form=percent)


def chart_b(samples: Samples) -> Charts:
    wanted = (
        ("vacuum_writes", "Writes by VACUUM", "writes by VACUUM"),
        ("vacuum_seconds", "Time of VACUUM", "time of VACUUM (s)"),
        ("checkpoint_buffers", "Written by the next checkpoint", "buffers written by the next checkpoint"),
    )
    caption = "Bars are medians over the trials. Lines extend from the lowest to the highest trial."
    charts = []
    for what, title, label in wanted:
        found = grouped(pick(samples, what=what), "x")
        rows = {size(limit): {title: summary} for limit, summary in found.items()}
        charts += rows_of_parts(title, caption, Axis(label), rows)
    # The number of unused buffers depends on the pool, not on the ring.
    left = pick(samples, what="buffers", moment="after")
    parts = {
        size(limit): {state: summarize(pick(left, x=limit, state=state)) for state in ("clean", "dirty")}
        for limit in distinct(samples, "x")
    }
    caption = "A large ring leaves dirty pages in the pool for the checkpoint. Medians over the trials."
    return charts + rows_of_parts("The pool after VACUUM", caption, Axis("buffers in use after VACUUM"), parts)


def chart_c(samples: Samples) -> Charts:
    axis = Axis("indexes")
    charts = []
    for what, title, unit in (("seconds", "Time of the INSERT", "seconds"), ("read", "Blocks read", "blocks read")):
        lines = lines_of_pools(pick(samples, what=what, order="random"))
        charts += chart_of_lines(f"{title}, random values", RANGES, lines, axis, unit)
    orders = distinct(samples, "order")
    for pool, name in pools(samples).items() if len(orders) > 1 else ():
        lines = lines_of({order: pick(samples, what="seconds", pool=pool, order=order) for order in orders})
        charts += chart_of_lines(f"Time by order of the values, {name} pool", RANGES, lines, axis, "seconds")
    return charts


def chart_d(samples: Samples) -> Charts:
    named = pools(samples)
    caption = (
        f"Pools: {', '.join(named.values())}. Ordered by p_id, the matching rows are scattered; "
        "ordered by c_id, they are adjacent. Medians over the trials."
    )
    bars = list(product(named, distinct(samples, "order"), ((1, "cold"), (2, "again"))))
    charts = []
    for query in distinct(samples, "query"):
        rows = {
            f"{pool}, by {order}, {moment}": {
                what: summarize(pick(samples, what=f"heap_blks_{what}", query=query, pool=pool, order=order, x=run))
                for what in ("hit", "read")
            }
            for pool, order, (run, moment) in bars
        }
        charts += rows_of_parts(f"Blocks hit and read, {query}", caption, Axis("blocks of the table"), rows)
    return charts


def chart_e1(samples: Samples) -> Charts:
    lines = lines_of({"tps": pick(samples, what="tps")})
    return chart_of_lines("Read throughput", RANGES, lines, CLIENTS, "transactions per second")


def chart_e2(samples: Samples) -> Charts:
    """Both scripts have ten updates."""
    scripts = {"write1": "write1: ten transactions", "write10": "write10: one transaction"}
    variants = ("simple", "prepared", "repeatable_read", "huge_pages")
    tps = pick(samples, what="tps")
    groups = {name: pick(tps, variant="simple", script=script) for script, name in scripts.items()}
    lines = lines_of(groups, 10)
    charts = chart_of_lines("Update throughput", RANGES, lines, CLIENTS, "updates per second")
    clients = distinct(pick(tps, variant=variants[1:]), "x")[-1:]
    rows: dict[str, dict[str, Summary | None]] = {}
    for most, variant, (script, name) in product(clients, variants, scripts.items()):
        found = summarize(pick(tps, variant=variant, script=script, x=most))
        rows[f"{variant.replace('_', ' ')}, {script}"] = {name: found and found.scaled(10)}
    title = f"Variants, {number(next(iter(clients), 0))} clients"
    caption = "Bars are medians over the trials. Lines extend from the lowest to the highest trial."
    return charts + rows_of_parts(title, caption, Axis("updates per second"), rows)


def chart_e3(samples: Samples) -> Charts:
    seconds = pick(samples, what="seconds")
    groups = {
        f"completion target {target}": pick(seconds, checkpoint_completion_target=(target, str(target)))
        for target in (0.5, 0.9)
    }
    lines = lines_of(groups)
    return chart_of_lines("vacuumdb with several jobs", RANGES, lines, Axis("jobs", "doublings"), "vacuumdb (s)")


def index_name(sample: Sample) -> str:
    pages = sample.get("x")
    brin = "BRIN" if pages is None else f"BRIN, {number(float(pages))} {'page' if pages == 1 else 'pages'}"
    names = {"btree": "B-tree", "brin": brin, "none": "no index", "partitions": "partitions"}
    return names.get(str(sample.get("index")), str(sample.get("index")))


def chart_e4(samples: Samples) -> Charts:
    kinds = {"btree": 0, "brin": 1, "partitions": 2, "none": 3}
    named = [{**sample, "name": index_name(sample)} for sample in samples]
    named.sort(key=lambda s: (kinds.get(str(s.get("index")), 9), s.get("x") or 0))
    wanted = (
        ("build_seconds", "Time to build", "build (s, logarithmic)", 1.0),
        ("index_bytes", "Size of the index", "size (MB, logarithmic)", 1 / MB),
        ("point_ms", "Read of one key", "read (ms, logarithmic)", 1.0),
        ("range_ms", "Read of 1 % of the keys", "read (ms, logarithmic)", 1.0),
    )
    charts = []
    for what, title, label, factor in wanted:
        here = [s for s in named if s["what"] == what and s["value"] > 0]
        rows = {
            name: {order: pick(here, name=name, order=order) for order in ("sorted", "random")}
            for name in dict.fromkeys(s["name"] for s in here)
        }
        caption = "Each mark is one trial. Further left is better."
        charts += rows_of_trials(title, caption, Axis(label, "decades"), rows, factor)
    return charts


def chart_e5(samples: Samples) -> Charts:
    folders = distinct(samples, "data_dir")
    charts = []
    for load, place in product(distinct(samples, "load"), ("inside", "outside")):
        tps = pick(samples, what="tps", load=load, place=place)
        lines = lines_of({folder: pick(tps, data_dir=folder) for folder in folders})
        axis = Axis("seconds since start")
        charts += chart_of_lines(f"{load}, {place} memory", RANGES, lines, axis, "transactions per second")
    return charts


def chart_f(samples: Samples) -> Charts:
    found = {
        f"{load}, {name}": derive.misses(samples, load, policy)
        for load, (policy, name) in product(distinct(samples, "load"), SWEEPS.items())
    }
    rows = {row: {"": misses and misses.scaled(100)} for row, misses in found.items()}
    caption = (
        "Simulated under live loads. Lines are 95 % intervals of the difference to one hand. Medians over the trials."
    )
    misses = rows_of_parts("Misses", caption, Axis("misses (% of the accesses)"), rows)
    times = pick(samples, what="search_ns")
    lines = lines_of({name: pick(times, policy=policy) for policy, name in SWEEPS.items()})
    caption = f"In a model of a pool of 1 GB. Processor time, without that of uses between searches. {RANGES}"
    return misses + chart_of_lines("Time of a search", caption, lines, Axis("threads", "doublings"), "one search (ns)")


CHARTS: dict[str, Callable[[Samples], Charts]] = {
    "A1": chart_a1,
    "A2": chart_a2,
    "A3": chart_a3,
    "A4": chart_a4,
    "A5": chart_a5,
    "A6": chart_a6,
    "A7": chart_a7,
    "A8": chart_a8,
    "B": chart_b,
    "C": chart_c,
    "D": chart_d,
    "E1": chart_e1,
    "E2": chart_e2,
    "E3": chart_e3,
    "E4": chart_e4,
    "E5": chart_e5,
    "F": chart_f,
}
