"""The tables of the report: published figures beside those of this run, and what single experiments need."""

from __future__ import annotations

from pgbufprobe_lab.analysis import derive
from pgbufprobe_lab.analysis.compare import HERE, ratio, read_share
from pgbufprobe_lab.analysis.medians import Samples, Summary, distinct, pick, summarize
from pgbufprobe_lab.analysis.published import A7_ORDER, C_INSERTED_ROWS, C_ROWS, Figure, figures
from pgbufprobe_page.formatting import MISSING, factor, number, size, with_unit
from pgbufprobe_page.model import Table


def measured(summary: Summary | None, unit: str) -> str:
    """Returns the median, with the range of the trials if they differ."""
    if summary is None:
        return "not measured"
    text = with_unit(summary.median, unit)
    if summary.low == summary.high:
        return text
    # Percentages and bytes need a unit for each figure, because each is scaled by itself.
    low, high = (with_unit(value, unit if unit in ("share", "bytes") else "") for value in (summary.low, summary.high))
    return f"{text} ({low} to {high})"


def _row(figure: Figure, here: Summary | None) -> tuple[str, ...]:
    label = f"{figure.label} ({figure.note})" if figure.note else figure.label
    return (
        label,
        with_unit(figure.value, figure.unit, 6),
        measured(here, figure.unit),
        factor(ratio(here.median if here else None, figure.value)),
    )


CAPTION = "Published and measured here: medians, with the lowest and the highest trial in parentheses"
OTHER_SIZES = ("B", "E3")
SCALED = ". The tables here have another size, so compare the rows with each other"
COLUMNS = ("Figure", "Published", "Here", "Here / published")
NUMERIC = (False, True, True, True)


def comparison(scenario: str, samples: Samples) -> Table | None:
    """Returns None if the write-up published only curves."""
    wanted = figures(scenario)
    if not wanted:
        return None
    here = HERE[scenario](samples)
    caption = CAPTION + SCALED if scenario in OTHER_SIZES else CAPTION
    return Table(caption, COLUMNS, tuple(_row(figure, here.get(figure.key)) for figure in wanted), NUMERIC)


def _blocks(read: Summary | None, hit: Summary | None) -> str:
    if read is None or hit is None:
        return "not measured"
    accessed = read.median + hit.median
    return f"{number(read.median)} of {number(accessed)} ({with_unit(read_share(read, hit), 'share')})"


def insert_comparison(samples: Samples) -> Table:
    """C: compares shares of blocks read, because the number of rows differs; random values."""
    random = pick(samples, order="random")
    rows = []
    for row in C_ROWS:
        pool = "small" if row.pool_bytes == C_ROWS[0].pool_bytes else "large"
        here = summarize(pick(random, what="read", pool=pool, x=row.indexes))
        count = "1 index" if row.indexes == 1 else f"{row.indexes} indexes"
        published_share = row.read / (row.hit + row.read)
        hit = summarize(pick(random, what="hit", pool=pool, x=row.indexes))
        rows.append(
            (
                f"{pool} pool (published: {size(row.pool_bytes)}), {count}",
                f"{number(row.read)} of {number(row.hit + row.read)} ({with_unit(published_share, 'share')})",
                _blocks(here, hit),
                factor(ratio(read_share(here, hit), published_share if published_share >= 0.001 else None)),
            )
        )
    return Table(
        f"Random values, blocks read of blocks accessed (published: {number(C_INSERTED_ROWS)} rows)",
        COLUMNS,
        tuple(rows),
        NUMERIC,
    )


def storage_table(samples: Samples) -> Table | None:
    """A7: only the order was published."""
    begins = derive.first_storage_reads(samples)
    if not begins:
        return None
    here = sorted(begins, key=lambda pool: begins[pool].median)
    widest = derive.widest_range(samples)
    rows = []
    for pool, begin in begins.items():
        beyond = widest is not None and begin.low >= widest
        spread = f"{number(begin.low)} to {number(begin.high)} %"
        rows.append(
            (
                f"{pool} pool",
                str(A7_ORDER.index(pool) + 1),
                str(here.index(pool) + 1),
                "not reached" if beyond else f"{number(begin.median)} %",
                MISSING if beyond else spread,
            )
        )
    columns = ("Pool", "Published rank", "Rank here", "Storage reads begin at", "Lowest to highest trial")
    return Table("Order in which storage reads begin", columns, tuple(rows), (False, True, True, True, True))


def prediction_table(samples: Samples) -> Table | None:
    """A7: what the advice predicted with the small pool, beside what the other pools needed."""
    rows = []
    for pool in derive.POOLS:
        for x in distinct(pick(samples, what="predicted_storage_share", pool=pool), "x"):
            shares = [
                summarize(pick(samples, what=what, pool=pool, x=x))
                for what in ("predicted_storage_share", "storage_share")
            ]
            rows.append((f"{pool} pool, {number(x)} % of the table", *(measured(share, "share") for share in shares)))
    if not rows:
        return None
    columns = ("Pool and range", "Predicted with the small pool", "Measured")
    return Table(
        "Share of reads from storage, as pgbufprobe_advice() predicted it", columns, tuple(rows), (False, True, True)
    )


def histogram_table(samples: Samples) -> Table | None:
    """A2: one event for each pool, as published."""
    rows = []
    for event in derive.shown_events(samples):
        counts = sorted({*event["before"], *event["after"]}, key=lambda count: -1 if count is None else count)
        for count in counts:
            name = "unused" if count is None else f"usage count {int(count)}"
            cells = (number(event[moment].get(count, 0.0)) for moment in ("before", "after"))
            rows.append((f"{event['pool']}, {name}", *cells))
    if not rows:
        return None
    return Table(
        "Buffers by usage count, before and after the search in the chart",
        ("Pool and usage count", "Before", "After"),
        tuple(rows),
        (False, True, True),
    )


def tables(name: str, samples: Samples) -> list[Table]:
    """Returns the tables of one experiment."""
    extra = {"A2": (histogram_table,), "A7": (storage_table, prediction_table), "C": (insert_comparison,)}.get(name, ())
    found = [comparison(name, samples), *(make(samples) for make in extra)]
    return [table for table in found if table is not None]
