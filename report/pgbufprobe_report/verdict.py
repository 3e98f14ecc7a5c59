"""The first lines: what to do, what users would gain, and over which hours that was seen."""

from __future__ import annotations

from datetime import datetime, timedelta

from pgbufprobe_page.formatting import duration, size
from pgbufprobe_report.details import outcome
from pgbufprobe_report.facts import LATER, Answer, Facts, Hour, Verdict, Word
from pgbufprobe_report.view import UNKNOWN, milliseconds, share_of

BY_HOURS = "waiting in hours"


def headline(facts: Facts) -> Answer:
    """Returns the verdict in a sentence. While it is unknown, the checkup has the reason."""
    row, said = facts.decided, facts.answer("size")
    if row is not None and row.note == LATER:
        text = LATER
    elif row is None or row.advised_bytes is None:
        text = (said.answer if said else None) or (row.note if row else None) or facts.verdict.why
    elif row.advised_bytes == row.today_bytes:
        text = f"Keep {size(row.today_bytes)}"
    else:
        text = f"Take {size(row.advised_bytes)} instead of {size(row.today_bytes)}"
    return Answer("size", row.verdict if row else Word(UNKNOWN), text, said.action if said else None)


def gained(row: Verdict) -> str:
    """Returns what users would gain from the advised size."""
    waited, work = row.read_ms_per_second, row.work_ms_per_second
    if row.advised_bytes == row.today_bytes:
        now = "" if waited is None else f"; sessions wait {milliseconds(waited)} for reads in each second"
        return f"nothing that is certain and matters{now}"
    if row.saved_ms_per_second is None:
        return f"unknown in time; compared by {row.basis}"
    saved = milliseconds(row.saved_ms_per_second, row.saved_ms_low, row.saved_ms_high)
    if saved == UNKNOWN:
        return "less waiting, but how much is not certain yet"
    text = f"{saved} less waiting for reads in each second, all sessions together"
    # Work is counted when transactions end, so it may be less than the waiting meanwhile.
    known = work and waited is not None and work >= waited
    return f"{text}: {share_of(row.saved_ms_per_second, work)} of their work" if known else text


def deciding(seconds: float, hours: list[Hour]) -> list[Hour]:
    """Returns the last hours that make up the time seen, newest first."""
    found = []
    for hour in reversed(hours):
        if seconds < 1:
            break
        if hour.in_decision:
            found.append(hour)
            seconds -= hour.seconds
    return found


def seen(row: Verdict, hours: list[Hour]) -> str:
    """Returns the time on which the verdict stands."""
    text = duration(row.seconds) if row.seconds else "no whole hour yet"
    if row.basis is not None and row.basis != BY_HOURS:
        return f"{text}; the recent workload decides"
    last = deciding(row.seconds or 0, hours)
    if last:
        begun, ended = (datetime.fromisoformat(each.hour) for each in (last[-1], last[0]))
        text += f", from {begun:%Y-%m-%d %H:%M} to {ended + timedelta(hours=1):%Y-%m-%d %H:%M %Z}"
    skips = any(not hour.in_decision for hour in hours)
    return f"{text}, without the hours of pgbufprobe.decision_skip_hours" if skips else text


def costs(facts: Facts, row: Verdict) -> str:
    """Returns what it costs to take the advised size: a restart, and memory of the page cache."""
    keeps = next((each.setting == "on" for each in facts.settings.found if each.name == "pgbufprobe.carry_over"), False)
    caches = (
        "both caches are restored" if keeps else "both caches are cold unless pgbufprobe.carry_over is turned on first"
    )
    more = (row.advised_bytes or 0) - row.today_bytes
    if more < 0:
        return f"a restart, after which {caches}; no memory: the page cache gets {size(-more)}"
    return f"a restart, after which {caches}, and {size(more)} of the page cache"


def lines(facts: Facts) -> tuple[tuple[str, str], ...]:
    """Returns the figures below the headline."""
    row, said = facts.decided, facts.answer("size")
    if row is None:
        return ()
    nothing = "nothing yet" if row.advised_bytes is None else "nothing"
    pairs = [("Users would gain", gained(row))] if row.advised_bytes is not None else []
    pairs += [
        ("Seen", seen(row, facts.hours.found)),
        ("What to do", (said.action if said else None) or nothing),
    ]
    if row.advised_bytes not in (None, row.today_bytes):
        pairs.append(("What it costs", costs(facts, row)))
    low, high = row.equal_from_bytes, row.equal_to_bytes
    if low is not None and high is not None and low < high:
        pairs.append(("Equally good", f"{size(low)} to {size(high)}"))
    last = next(iter(facts.predictions.found), None)
    if last and last.to_bytes == row.today_bytes:
        pairs.append(("Last prediction", f"{outcome(last)}, from {size(last.from_bytes)} to {size(last.to_bytes)}"))
    return tuple(pairs)
