"""The plots of write-up A, in the shape of its figures. Each function: samples in, charts out, none without data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pgbufprobe_lab.published import GB, MB
from pgbufprobe_lab.report import derive
from pgbufprobe_lab.report.charts import Axis, Row, Series, Spec, bars, dots, lines, proportional_line, stacks
from pgbufprobe_lab.report.format import number, size
from pgbufprobe_lab.report.medians import Samples, Summary, by_trial, distinct, grouped, pick, summarize
from pgbufprobe_lab.report.model import Chart

SWEPT = 0.5  # turns of the hand from which a read counts as one that swept
IN_PROPORTION = (
    "Each mark is one trial; each line is their median cost for a GB, so marks on it mean a cost in proportion to the "
    "pool."
)
RANGES = "Points are medians over the trials, thin lines reach from the lowest trial to the highest."
TIERS = {"shared_buffers": "pool", "os_cache": "OS cache", "storage": "storage"}


def pool_series(samples: Samples) -> tuple[Series, dict[str, str]]:
    """The pools that were measured, each with its colour and its size in its name."""
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
    """A point for each pool and x."""
    return [
        row(x, summary, label, factor)
        for pool, label in labels.items()
        for x, summary in grouped(pick(samples, pool=pool), "x").items()
    ]


def by_name(spec: Spec) -> Spec:
    """Where the axis names the series already: no legend, and no place beside each other."""
    for channel in ("color", "shape"):
        spec["encoding"][channel]["legend"] = None
    spec["encoding"].pop("xOffset", None)
    spec["encoding"].pop("yOffset", None)
    return spec


def plot_a1(samples: Samples) -> list[Chart]:
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
            "Each mark is the median of one trial. Level marks: the size does not matter.",
            spec,
        )
    ]


def _turn_cost(samples: Samples) -> list[Chart]:
    names = {"live": "server's own search", "replay": "replay", "reads": "timed reads"}
    rows = [
        {"x": s["pool_bytes"] / GB, "y": s["value"], "series": names[s["method"]]}
        for s in pick(samples, what="pass_ms", method=tuple(names))
    ]
    if not rows:
        return []
    present = tuple(name for name in names.values() if any(r["series"] == name for r in rows))
    spec = proportional_line(rows, Axis("pool (GB)"), Axis("one turn of the hand (ms)"), Series(present))
    return [Chart("What one turn of the hand costs", IN_PROPORTION, spec)]


def shown_events(samples: Samples) -> list[dict[str, Any]]:
    """For each pool one event to show: around a read of the first trial, else around a live search."""
    events = sorted(
        derive.histogram_events(samples), key=lambda e: (e["kind"] != "read", e["trial"] or 0, e["event"] or 0)
    )
    chosen = (next((event for event in events if event["pool"] == pool), None) for pool in derive.POOLS)
    return [event for event in chosen if event]


def _moved(samples: Samples) -> list[Chart]:
    charts = []
    _, labels = pool_series(samples)
    for event in shown_events(samples):
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
        turns = number(event["passes"])
        turns += " turn" if turns == "1" else " turns"
        charts.append(
            Chart(
                f"Usage counts around one search, {labels.get(event['pool'], event['pool'])} pool",
                f"The hand made {turns}, and each turn moves every page one to the left.",
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
        f"Trial {trial}. Large marks are reads whose search for a victim took the hand through half of the pool or "
        "more; what else is slow has other causes, such as the disk or other programs."
    )
    return [Chart("Each single read, with the pool full of pages in heavy use", caption, spec, wide=True)]


def plot_a2(samples: Samples) -> list[Chart]:
    return _reads(samples) + _turn_cost(samples) + _moved(samples)


def plot_a3(samples: Samples) -> list[Chart]:
    groups = {"pool": derive.pool_hit(samples), "OS cache": derive.os_hit(samples)}
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
            "A read from the pool and one from the OS cache", "Each mark is the median of one trial.", spec, wide=True
        )
    ]


def plot_a4(samples: Samples) -> list[Chart]:
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


def plot_a5(samples: Samples) -> list[Chart]:
    names = {"lock": "as a checkpoint searches", "match": "as DROP searches", "read": "as a histogram reads"}
    rows = [
        {"x": s["pool_bytes"] / GB, "y": s["value"], "series": names[s["method"]]}
        for s in pick(samples, what="scan_ms", stat="avg", method=tuple(names))
    ]
    if not rows:
        return []
    present = tuple(name for name in names.values() if any(r["series"] == name for r in rows))
    spec = proportional_line(rows, Axis("pool (GB)"), Axis("one scan of the pool (ms)"), Series(present))
    return [Chart("What a scan of all buffers costs", IN_PROPORTION, spec, wide=True)]


def plot_a6(samples: Samples) -> list[Chart]:
    series, labels = pool_series(samples)
    charts = []
    for case, title in (("hit", "all pages in the pool"), ("os", "a table that only the OS cache holds")):
        tps = pick(samples, what="tps", case=case)
        clients = tuple(int(x) for x in distinct(tps, "x"))
        if rows := curves(tps, labels):
            spec = lines(rows, Axis("clients", clients), Axis("reads per second"), series)
            charts.append(Chart(f"Throughput, {title}", RANGES, spec))
    return charts


def plot_a7(samples: Samples) -> list[Chart]:
    series, labels = pool_series(samples)
    x = Axis("part of the table that is read (%)")
    wanted = (
        (
            "storage_share",
            "Share of reads from storage",
            "reads from storage (%)",
            100.0,
            "Where a line leaves zero, the two caches together are full.",
        ),
        (
            "mean_ms",
            "Mean time of a read",
            "mean read (ms)",
            1.0,
            "A read from storage costs a multiple of one from either cache.",
        ),
        (
            "both_bytes",
            "Kept twice",
            "in both caches (MB)",
            1 / MB,
            "Pages of the table that are in the pool and in the OS cache at once.",
        ),
    )
    charts = []
    for what, title, label, scale, caption in wanted:
        if rows := curves(pick(samples, what=what), labels, scale):
            spec = lines(rows, x, Axis(label), series)
            charts.append(Chart(title, f"{caption} {RANGES}", spec, wide=what == "storage_share"))
    return charts


def plot_a8(samples: Samples) -> list[Chart]:
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
    caption = "What reads of table 1 met, before and after table 2 was read from end to end. Medians over the trials."
    return [Chart("What serves the table", caption, spec, wide=True)]


PLOTS: dict[str, Callable[[Samples], list[Chart]]] = {
    "A1": plot_a1,
    "A2": plot_a2,
    "A3": plot_a3,
    "A4": plot_a4,
    "A5": plot_a5,
    "A6": plot_a6,
    "A7": plot_a7,
    "A8": plot_a8,
}
