"""The charts of write-ups B to E, in the form of their figures. Without samples, there is no chart."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from pgbufprobe_lab.analysis.medians import Samples, by_trial, distinct, grouped, pick, summarize
from pgbufprobe_lab.report.charts_a import RANGES, curves, pool_series, row
from pgbufprobe_lab.sizes import MB
from pgbufprobe_page.charts import Axis, Row, Series, bars, dots, lines, stacks
from pgbufprobe_page.formatting import number, size
from pgbufprobe_page.model import Chart

STATES = ("clean", "dirty")


def chart_b(samples: Samples) -> list[Chart]:
    limits = distinct(samples, "x")
    order = tuple(size(limit) for limit in limits)
    wanted = (
        ("vacuum_writes", "Writes by VACUUM", "writes"),
        ("vacuum_seconds", "Time of VACUUM", "s"),
        ("checkpoint_buffers", "Written by the next checkpoint", "buffers"),
    )
    charts = []
    for what, title, unit in wanted:
        rows = [row(size(x), group, title) for x, group in grouped(pick(samples, what=what), "x").items()]
        if rows:
            spec = bars(
                rows, Axis("ring size", order), Axis(f"{title[0].lower()}{title[1:]} ({unit})"), Series((title,)), 230
            )
            charts.append(
                Chart(title, "Medians over the trials. Lines extend from the lowest to the highest trial.", spec)
            )
    return charts + _pool_after_vacuum(samples, order)


def _pool_after_vacuum(samples: Samples, order: tuple[str, ...]) -> list[Chart]:
    """Shows only used buffers, because the number of unused ones depends on the pool, not on the ring."""
    rows: list[Row] = []
    for limit, (place, state) in product(distinct(samples, "x"), enumerate(STATES)):
        group = summarize(pick(samples, what="buffers", moment="after", x=limit, state=state))
        if group:
            label = number(group.median)
            rows.append({"x": group.median, "y": size(limit), "series": state, "place": place, "label": label})
    if not rows:
        return []
    most = max(row["x"] for row in rows)
    rows = [{**row, "wide": row["x"] >= 0.15 * most} for row in rows]
    spec = stacks(rows, Axis("buffers in use after VACUUM"), Axis("", order), Series(STATES), 40)
    caption = "A large ring leaves dirty pages in the pool for the checkpoint. Medians over the trials."
    return [Chart("The pool after VACUUM", caption, spec)]


def chart_c(samples: Samples) -> list[Chart]:
    series, labels = pool_series(samples)
    indexes = tuple(int(x) for x in distinct(samples, "x"))
    x = Axis("indexes", indexes)
    charts = []
    for what, title, label in (("seconds", "Time of the INSERT", "seconds"), ("read", "Blocks read", "blocks read")):
        if rows := curves(pick(samples, what=what, order="random"), labels):
            charts.append(Chart(f"{title}, random values", RANGES, lines(rows, x, Axis(label), series)))
    orders = tuple(distinct(samples, "order"))
    for pool, name in labels.items():
        rows = [
            row(int(count), group, order)
            for order in orders
            for count, group in grouped(pick(samples, what="seconds", pool=pool, order=order), "x").items()
        ]
        if rows and len(orders) > 1:
            spec = lines(rows, x, Axis("seconds"), Series(orders))
            charts.append(Chart(f"Time by order of the values, {name} pool", RANGES, spec))
    return charts


def _block_rows(samples: Samples, query: str, pools: list[str]) -> list[Row]:
    """Returns the blocks hit and read by a query, for a bar for each pool, order of rows and run."""
    rows: list[Row] = []
    for pool, order, (run, moment) in product(pools, distinct(samples, "order"), ((1, "cold"), (2, "again"))):
        wanted = {"query": query, "pool": pool, "order": order, "x": run}
        for place, what in enumerate(("hit", "read")):
            group = summarize(pick(samples, what=f"heap_blks_{what}", **wanted))
            if group:
                bar = f"{pool}, by {order}, {moment}"
                blocks = group.median
                rows.append({"x": blocks, "y": bar, "series": what, "place": place, "label": number(blocks)})
    most = max((row["x"] for row in rows), default=0)
    return [{**row, "wide": row["x"] >= 0.15 * most} for row in rows]


def chart_d(samples: Samples) -> list[Chart]:
    _, labels = pool_series(samples)
    caption = (
        f"Pools: {', '.join(labels.values())}. Ordered by p_id, the matching rows are scattered; ordered by c_id, they "
        "are adjacent. Medians over the trials."
    )
    charts = []
    for query in distinct(samples, "query"):
        if rows := _block_rows(samples, query, list(labels)):
            order = tuple(dict.fromkeys(row["y"] for row in rows))
            spec = stacks(rows, Axis("blocks of the table"), Axis("", order), Series(("hit", "read"), (0, 1)), 28)
            charts.append(Chart(f"Blocks hit and read, {query}", caption, spec))
    return charts


def chart_e1(samples: Samples) -> list[Chart]:
    tps = grouped(pick(samples, what="tps"), "x")
    rows = [row(int(x), group, "tps") for x, group in tps.items()]
    if not rows:
        return []
    spec = lines(rows, Axis("clients", tuple(int(x) for x in tps)), Axis("transactions per second"), Series(("tps",)))
    return [Chart("Read throughput", RANGES, spec, wide=True)]


def chart_e2(samples: Samples) -> list[Chart]:
    names = {"write1": "write1: ten transactions", "write10": "write10: one transaction"}
    simple = pick(samples, what="tps", variant="simple")
    # Both scripts have ten updates.
    rows = [
        row(int(x), group, name, 10)
        for script, name in names.items()
        for x, group in grouped(pick(simple, script=script), "x").items()
    ]
    charts = []
    if rows:
        clients = tuple(int(x) for x in distinct(simple, "x"))
        spec = lines(rows, Axis("clients", clients), Axis("updates per second"), Series(tuple(names.values())))
        charts.append(Chart("Update throughput", RANGES, spec))
    return charts + _variants(samples, names)


def _variants(samples: Samples, names: dict[str, str]) -> list[Chart]:
    tps = pick(samples, what="tps")
    others = [variant for variant in ("prepared", "repeatable_read", "huge_pages") if pick(tps, variant=variant)]
    if not others:
        return []
    clients = distinct(pick(tps, variant=tuple(others)), "x")[-1]
    shown = {
        "simple": "simple",
        "prepared": "prepared",
        "repeatable_read": "repeatable read",
        "huge_pages": "huge pages",
    }
    rows = [
        row(shown[variant], group, name, 10)
        for variant in ("simple", *others)
        for script, name in names.items()
        if (group := summarize(pick(tps, variant=variant, script=script, x=clients)))
    ]
    order = tuple(shown[variant] for variant in ("simple", *others))
    spec = bars(rows, Axis("variant", order), Axis("updates per second"), Series(tuple(names.values())))
    return [Chart(f"Variants, {number(clients)} clients", "Medians over the trials.", spec)]


def chart_e3(samples: Samples) -> list[Chart]:
    seconds = pick(samples, what="seconds")
    jobs = tuple(int(x) for x in distinct(seconds, "x"))
    rows, names = [], []
    for target in (0.5, 0.9):
        groups = grouped(pick(seconds, checkpoint_completion_target=(target, str(target))), "x")
        if groups:
            names.append(f"completion target {target}")
            rows += [row(int(x), group, names[-1]) for x, group in groups.items()]
    if not rows:
        return []
    spec = lines(rows, Axis("jobs", jobs), Axis("vacuumdb (s)"), Series(tuple(names)))
    return [Chart("vacuumdb with several jobs", RANGES, spec, wide=True)]


def brin_name(pages: object) -> str:
    return f"BRIN, {number(float(str(pages)))} {'page' if pages == 1 else 'pages'}" if pages is not None else "BRIN"


def index_name(sample: dict[str, object]) -> str:
    names = {"btree": "B-tree", "brin": brin_name(sample.get("x")), "none": "no index", "partitions": "partitions"}
    return names.get(str(sample.get("index")), str(sample.get("index")))


def chart_e4(samples: Samples) -> list[Chart]:
    orders = ("sorted", "random")
    named = [{**sample, "name": index_name(dict(sample))} for sample in samples]
    kinds = {"btree": 0, "brin": 1, "partitions": 2, "none": 3}
    ranked = sorted(named, key=lambda s: (kinds.get(s.get("index"), 9), s.get("x") or 0))
    order = tuple(dict.fromkeys(s["name"] for s in ranked))
    wanted = (
        ("build_seconds", "Time to build", "build (s, logarithmic)", 1.0),
        ("index_bytes", "Size of the index", "size (MB, logarithmic)", 1 / MB),
        ("point_ms", "Read of one key", "read (ms, logarithmic)", 1.0),
        ("range_ms", "Read of 1 % of the keys", "read (ms, logarithmic)", 1.0),
    )
    charts = []
    for what, title, label, scale in wanted:
        here = [s for s in named if s["what"] == what and s["value"] > 0]
        rows = [
            {"x": scale * median, "y": name, "series": rows_order}
            for rows_order in orders
            for name in order
            for median in by_trial(pick(here, name=name, order=rows_order)).values()
        ]
        if rows:
            shown = tuple(name for name in order if any(r["y"] == name for r in rows))
            spec = dots(rows, Axis(label, log=True), Axis("", shown), Series(orders), 40 * len(shown) + 40, 80)
            spec["encoding"]["y"]["title"] = None
            spec["encoding"]["y"]["axis"]["grid"] = True
            charts.append(Chart(title, "Each mark is one trial. Further left is better.", spec))
    return charts


def chart_e5(samples: Samples) -> list[Chart]:
    dirs = tuple(distinct(samples, "data_dir"))
    charts = []
    for load in distinct(samples, "load"):
        for place in ("inside", "outside"):
            tps = pick(samples, what="tps", load=load, place=place)
            rows = [
                row(x, group, folder)
                for folder in dirs
                for x, group in grouped(pick(tps, data_dir=folder), "x").items()
            ]
            if rows:
                spec = lines(rows, Axis("seconds since start"), Axis("transactions per second"), Series(dirs))
                charts.append(Chart(f"{load}, {place} memory", RANGES, spec))
    return charts


CHARTS: dict[str, Callable[[Samples], list[Chart]]] = {
    "B": chart_b,
    "C": chart_c,
    "D": chart_d,
    "E1": chart_e1,
    "E2": chart_e2,
    "E3": chart_e3,
    "E4": chart_e4,
    "E5": chart_e5,
}
