"""The charts of write-up A, in the form of its figures. Without samples, there is no chart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pgbufprobe_lab.analysis import derive
from pgbufprobe_lab.analysis.medians import Samples, Summary, by_trial, distinct, grouped, pick, summarize
from pgbufprobe_lab.sizes import GB, MB
from pgbufprobe_page.charts import Axis, Row, Series, bars, dots, lines, proportional_line, stacks
from pgbufprobe_page.formatting import number, size
from pgbufprobe_page.model import Chart, Spec

SWEPT = 0.5  # passes from which a read counts as one that swept
IN_PROPORTION = (
    "Each mark is one trial. Each line is the median cost per GB; marks on the line mean that the cost is proportional "
    "to the pool."
)
RANGES = "Points are medians over the trials. Thin lines extend from the lowest to the highest trial."
TIERS = {"shared_buffers": "pool", "os_cache": "page cache", "storage": "storage"}


def pool_series(samples: Samples) -> tuple[Series, dict[str, str]]:
    """Returns the pools that were measured, with their colours and with their sizes as labels."""
    sizes = derive.pool_sizes(samples)
    labels = {pool: f"{pool} ({size(sizes[pool])})" for pool in derive.POOLS if pool in sizes}
    places = tuple(derive.POOLS.index(pool) for pool in labels)
    return Series(tuple(labels.values()), places), labels


def row(x: Any, summary: Summary, series: str, factor: float = 1.0, unit: str = "") -> Row:
    scaled = summary.scaled(factor)
    return {
        "x": x,
        "y": scaled.median,
        "low": scaled.low,
        "high": scaled.high,
        "series": series,
        "label": f"{number(scaled.median)}{unit}",
    }


def curves(samples: Samples, labels: dict[str, str], factor: float = 1.0) -> list[Row]:
    """Returns a point for each pool and x."""
    return [
        row(x, summary, label, factor)
        for pool, label in labels.items()
        for x, summary in grouped(pick(samples, pool=pool), "x").items()
    ]


def by_name(spec: Spec) -> Spec:
    """Removes the legend and the offsets from a chart whose axis names the series."""
    for channel in ("color", "shape"):
        spec["encoding"][channel]["legend"] = None
    spec["encoding"].pop("xOffset", None)
    spec["encoding"].pop("yOffset", None)
    return spec


def chart_a1(samples: Samples) -> list[Chart]:
    series, labels = pool_series(samples)
    order = tuple(labels.values())
    rows = [
        {"x": label, "y": median, "series": label}
        for pool, label in labels.items()
        for median in by_trial(pick(samples, what="hit_ms", pool=pool)).values()
    ]
    if not rows:
        return []
    spec = by_name(dots(rows, Axis("pool", order), Axis("time of a hit (ms)"), series, size=90))
    return [
        Chart(
            "Time of a hit, by pool",
            "Each mark is the median of one trial. Marks at the same height mean that the size has no effect.",
            spec,
        )
    ]


def _pass_cost(samples: Samples) -> list[Chart]:
    names = {"live": "server's own search", "replay": "replay", "reads": "timed reads"}
    rows = [
        {"x": s["pool_bytes"] / GB, "y": s["value"], "series": names[s["method"]]}
        for s in pick(samples, what="pass_ms", method=tuple(names))
    ]
    if not rows:
        return []
    present = tuple(name for name in names.values() if any(r["series"] == name for r in rows))
    spec = proportional_line(rows, Axis("pool (GB)"), Axis("one pass (ms)"), Series(present))
    return [Chart("Cost of one pass", IN_PROPORTION, spec)]


def _histograms(samples: Samples) -> list[Chart]:
    charts = []
    _, labels = pool_series(samples)
    for event in derive.shown_events(samples):
        counts = sorted(count for count in {*event["before"], *event["after"]} if count is not None)
        total = sum(event["before"].values())
        rows = [
            {
                "x": count,
                "y": 100 * (value := event[moment].get(count, 0.0)) / total,
                "series": moment,
                "label": number(100 * value / total, 2) if value >= 0.005 * total else "",
            }
            for count in counts
            for moment in ("before", "after")
        ]
        spec = bars(
            rows,
            Axis("usage count", tuple(counts)),
            Axis("share of the pool (%)"),
            Series(("before", "after"), (4, 3)),
            230,
        )
        passes = number(event["passes"])
        passes += " pass" if passes == "1" else " passes"
        charts.append(
            Chart(
                f"Usage counts before and after one search, {labels.get(event['pool'], event['pool'])} pool",
                f"The clock hand made {passes}. Each pass moves every page one to the left.",
                spec,
            )
        )
    return charts


def by_sweep(swept: float, other: float) -> Spec:
    return {"condition": {"test": "datum.swept", "value": swept}, "value": other}


def _reads(samples: Samples) -> list[Chart]:
    series, labels = pool_series(samples)
    reads = pick(samples, what="read_ms")
    trial = min(distinct(reads, "trial"), default=None)
    rows = [
        {"x": s["x"], "y": s["value"], "series": labels[s["pool"]], "swept": (s.get("passes") or 0) >= SWEPT}
        for s in pick(reads, trial=trial, pool=tuple(labels))
        if s["value"] > 0
    ]
    if not rows:
        return []
    spec = dots(
        rows, Axis("number of the read", zero=False), Axis("time of the read (ms, logarithmic)", log=True), series
    )
    spec["encoding"] |= {"size": by_sweep(150, 16), "opacity": by_sweep(1, 0.4)}
    caption = (
        f"Trial {trial}. Large marks are reads whose search for a victim visited at least half of the pool. Other slow "
        "reads have other causes, such as the disk or other programs."
    )
    return [Chart("Time of each read, with all pages of the pool in heavy use", caption, spec, wide=True)]


def chart_a2(samples: Samples) -> list[Chart]:
    return _reads(samples) + _pass_cost(samples) + _histograms(samples)


def chart_a3(samples: Samples) -> list[Chart]:
    groups = {"pool": derive.pool_hit(samples), "page cache": derive.page_cache_hit(samples)}
    rows = [
        {"x": 1000 * median, "y": name, "series": name}
        for name, group in groups.items()
        for median in by_trial(group).values()
    ]
    if not rows:
        return []
    series = Series(tuple(groups))
    spec = by_name(dots(rows, Axis("one read (µs)"), Axis("found in", tuple(groups)), series, 130, 90))
    return [
        Chart(
            "A read from the pool and one from the page cache", "Each mark is the median of one trial.", spec, wide=True
        )
    ]


def chart_a4(samples: Samples) -> list[Chart]:
    series, labels = pool_series(samples)
    charts = []
    for what, title in (("update_ms", "UPDATE of one row"), ("commit_ms", "its COMMIT")):
        rows = [
            {"x": label, "y": median, "series": label}
            for pool, label in labels.items()
            for median in by_trial(pick(samples, what=what, pool=pool)).values()
        ]
        if rows:
            spec = by_name(dots(rows, Axis("pool", tuple(labels.values())), Axis(f"{title} (ms)"), series, 230, 90))
            charts.append(
                Chart(f"{title[0].upper()}{title[1:]}, by pool", "Each mark is the median of one trial.", spec)
            )
    return charts


def chart_a5(samples: Samples) -> list[Chart]:
    names = {"lock": "as in a checkpoint", "match": "as in DROP TABLE", "read": "as for a histogram"}
    rows = [
        {"x": s["pool_bytes"] / GB, "y": s["value"], "series": names[s["method"]]}
        for s in pick(samples, what="scan_ms", stat="min", method=tuple(names))
    ]
    if not rows:
        return []
    present = tuple(name for name in names.values() if any(r["series"] == name for r in rows))
    spec = proportional_line(rows, Axis("pool (GB)"), Axis("one scan of the pool (ms)"), Series(present))
    return [Chart("Cost of a scan of all buffers", IN_PROPORTION, spec, wide=True)]


def chart_a6(samples: Samples) -> list[Chart]:
    series, labels = pool_series(samples)
    charts = []
    for case, title in (("hit", "all pages in the pool"), ("os", "a table that only the page cache holds")):
        tps = pick(samples, what="tps", case=case)
        clients = tuple(int(x) for x in distinct(tps, "x"))
        if rows := curves(tps, labels):
            spec = lines(rows, Axis("clients", clients), Axis("reads per second"), series)
            charts.append(Chart(f"Throughput, {title}", RANGES, spec))
    return charts


def chart_a7(samples: Samples) -> list[Chart]:
    series, labels = pool_series(samples)
    x = Axis("range that is read (% of the table)")
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
    charts = []
    for what, title, label, scale, caption in wanted:
        if rows := curves(pick(samples, what=what), labels, scale):
            spec = lines(rows, x, Axis(label), series)
            charts.append(Chart(title, f"{caption} {RANGES}", spec, wide=what == "storage_share"))
    return charts


def chart_a8(samples: Samples) -> list[Chart]:
    _, labels = pool_series(samples)
    shares = pick(samples, what="share", method="reads")
    order = tuple(f"{pool}, {moment}" for pool in labels for moment in ("before", "after"))
    rows = []
    for pool in labels:
        for moment in ("before", "after"):
            for place, (tier, name) in enumerate(TIERS.items()):
                share = summarize(pick(shares, pool=pool, moment=moment, tier=tier))
                if share:
                    percent = 100 * share.median
                    rows.append(
                        {
                            "x": percent,
                            "y": f"{pool}, {moment}",
                            "series": name,
                            "place": place,
                            "label": f"{percent:.0f} %",
                            "wide": percent >= 8,
                        }
                    )
    if not rows:
        return []
    spec = stacks(rows, Axis("share of the reads (%)"), Axis("", order), Series(tuple(TIERS.values())), 36)
    caption = (
        "Where reads of table 1 found their pages, before and after a sequential scan of table 2. Medians over the "
        "trials."
    )
    return [Chart("Where reads find their pages", caption, spec, wide=True)]


CHARTS: dict[str, Callable[[Samples], list[Chart]]] = {
    "A1": chart_a1,
    "A2": chart_a2,
    "A3": chart_a3,
    "A4": chart_a4,
    "A5": chart_a5,
    "A6": chart_a6,
    "A7": chart_a7,
    "A8": chart_a8,
}
