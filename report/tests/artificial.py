"""Facts of a server that does not exist, as --json writes them. Names are hostile."""

from pgbufprobe_report.facts import Report, parsed

MB = 1024**2
BLOCK = 8192
EVIL = 'public."</script><img src=x onerror=alert(1)> & \'quoted\' ""double"" `tik`"'
WIDE = 'public."' + "名" * 21 + '"'  # 63 bytes of UTF-8
HOSTILE = (EVIL.removeprefix('public."').removesuffix('"').replace('""', '"'), "名" * 21)
NAMES = (EVIL, WIDE, "public.orders")

SIZES = (0.25, 0.5, 0.625, 0.75, 0.875, 1, 1.25, 1.5, 2, 3, 4)
MISSES = (0.2515, 0.2125, 0.199, 0.1877, 0.1767, 0.1664, 0.1481, 0.1335, 0.1121, 0.0812, 0.0601)
WAITS = (0.1183, 0.131, 0.136, 0.1425, 0.1469, 0.1482, 0.148, 0.1335)
TOPICS = {
    "size": "change",
    "pool": "fine",
    "page lifetime": "fine",
    "victim search": "fine",
    "dirty victims": "consider",
    "pool scans": "unknown",
    "cached twice": "consider",
    "planner cache": "fine",
    "memory": "consider",
}


def verdict(**replaced):
    yield {
        "verdict": "change",
        "basis": "waiting in hours",
        "today_bytes": 192 * MB,
        "advised_bytes": 96 * MB,
        "equal_from_bytes": 96 * MB,
        "equal_to_bytes": 120 * MB,
        "read_ms_per_second": 296.4,
        "saved_ms_per_second": 34.4,
        "saved_ms_low": 30.0,
        "saved_ms_high": 38.8,
        "work_ms_per_second": 688.0,
        "seconds": 84600.0,
        "note": None,
    } | replaced


def hours():
    """Of the last 30 hours, the first has another size, the second no times, and the third does not decide."""
    for number in range(30):
        bests = {1: None, 5: 96 * MB, 6: 96 * MB, 7: 384 * MB}
        yield {
            "hour": f"2026-11-{21 + (number + 6) // 24}T{(number + 6) % 24:02}:00:00+00:00",
            "seconds": 3600.0 if number else 1800.0,
            "in_decision": number != 2,
            "shared_buffers_bytes": (96 if number == 0 else 192) * MB,
            "read_ms_per_second": None if number == 1 else 100.0 + number,
            "best_bytes": bests.get(number, (96 if number == 0 else 192) * MB),
            "saved_ms_per_second": None if number == 1 else 10.0 if number in bests else 0.0,
        }


def checkup():
    for topic, verdict in TOPICS.items():
        yield {
            "topic": topic,
            "verdict": verdict,
            "answer": "Take 96 MB of the 369 MB of both caches" if topic == "size" else f"The answer about {topic}",
            "action": f"What to do about {topic}." if verdict in ("consider", "change") else None,
            "detail": f"The figures of {topic}." if verdict != "fine" else None,
        }


def status():
    yield {
        "sampler": "running",
        "sampled_fraction": 0.05,
        "learned_fraction": 1.0,
        "reads_seen": 91628,
        "self_error": -0.031,
        "storage_self_error": 0.002,
        "missed_fraction": 0.01,
    }


def sizes(pool=192 * MB, advised=0.5, known=True):
    for number, (factor, miss) in enumerate(zip(SIZES, MISSES, strict=True)):
        fits = factor < 2
        wait = WAITS[number] if fits else None
        yield {
            "size_factor": factor,
            "shared_buffers_bytes": int(pool * factor),
            "os_cache_bytes": int(369 * MB - pool * factor) if fits else None,
            "fits": "yes" if fits else "cgroup",
            "mark": {1: "today", advised: "advised"}.get(factor),
            "miss_ratio": miss if known and fits else None,
            "miss_ratio_low": miss - 0.005 if known and fits else None,
            "miss_ratio_high": miss + 0.005 if known and fits else None,
            "storage_ratio": wait if known else None,
            "storage_ratio_low": wait - 0.009 if known and fits else None,
            "storage_ratio_high": wait + 0.009 if known and fits else None,
            "read_ms_per_second": 2000 * wait if known and fits else None,
            "read_ms_low": 1800 * wait if known and fits else None,
            "read_ms_high": 2200 * wait if known and fits else None,
            "note": None
            if known or not fits
            else "nothing watches this server, because no sampler is running; "
            "SELECT pgbufprobe_start() starts one without a restart",
        }


def memory():
    """Of totals of 369 MB in a container of 400 MB; the largest is unknown, and today's memory has a better split."""
    for factor, mark in (
        (0.25, None),
        (0.5, None),
        (0.8, None),
        (0.9, "target"),
        (1, "today"),
        (1, "advised"),
        (2, "knee"),
        (4, None),
    ):
        wait = 0.1 / factor if factor < 4 else None
        pool = 192 * MB if mark == "today" else 96 * MB
        yield {
            "memory_bytes": int((400 + (factor - 1) * 369) * MB),
            "shared_buffers_bytes": pool if wait else None,
            "os_cache_bytes": int(factor * 369 * MB - pool) if wait else None,
            "mark": mark,
            "storage_ratio": wait,
            "storage_ratio_low": wait and wait - 0.01,
            "storage_ratio_high": wait and wait + 0.01,
            "read_ms_per_second": wait and (2500 if mark == "today" else 2000) * wait,
            "read_ms_low": wait and 1800 * wait,
            "read_ms_high": wait and 2700 * wait,
            "note": None if wait else "54 % of the reads have been seen that are needed",
        }


def usage():
    for count, buffers in (*enumerate((2000, 9000, 4000, 3000, 2000, 4476)), (None, 100)):
        yield {
            "usagecount": count,
            "buffers": buffers,
            "buffers_low": buffers,
            "buffers_high": buffers,
            "dirty": buffers // 10,
        }


def history():
    for minute in range(60):
        yield {
            "taken_at": f"2026-11-22T11:{minute:02}:00.5+00:00",
            "seconds_per_pass": 6.7 + minute / 60 if minute else None,
            "usagecounts": [2000 + 10 * minute, 9000 - 10 * minute, 4000, 3000, 2000, 4476],
        }


def victims():
    for scenario, us in (("current", 0.0378), ("worst", 1930.0)):
        costs = dict.fromkeys(("avg_us", "p99_us", "max_us"), us)
        yield {"scenario": scenario, **costs, "inspected": 2400, "dirty_victims": 600, "ms_per_pass": 0.37}


def scans():
    for method in ("read", "lock", "match"):
        yield {"method": method, "min_ms": 0.0537, "max_ms": 0.21}


def interval(name, value, error):
    """Returns a column and the ends of its interval."""
    known = value is not None
    return {
        name: value,
        f"{name}_low": value - error if known else None,
        f"{name}_high": value + error if known else None,
    }


def names():
    """Yields what names a relation: three of this database, one of another, and the others."""
    for oid, name in enumerate(NAMES, 16384):
        yield {"relation": name, "oid": oid, "database": "shop</script>", "relfilenode": oid, "database_oid": 5}
    yield {"relation": None, "oid": None, "database": "other", "relfilenode": 777, "database_oid": 6}
    yield dict.fromkeys(("relation", "oid", "database", "relfilenode", "database_oid"))


def gains():
    for number, name in enumerate(names()):
        yield name | {
            "fork": "main",
            "read_fraction": 0.4 / (number + 1),
            **interval("reads_saved", 1000 * number, 50),
            **interval("reads_added", 900, 50),
            **interval("storage_reads_saved", -200 if number else None, 80),
            **interval("working_set_bytes", 50 * MB, MB),
            "note": f'about "{name["relation"]}"' if number == 0 else None,
        }


def predictions():
    for held in (True, False, None):
        yield {
            "made_at": "2026-11-22T10:00:00.123456+00:00",
            "from_bytes": 192 * MB,
            "to_bytes": {True: 96, False: 128, None: 256}[held] * MB,
            "miss_ratio": 0.2125,
            "miss_ratio_low": 0.207,
            "miss_ratio_high": 0.218,
            "measured_miss_ratio": None if held is None else 0.2154,
            "storage_ratio": None,
            "storage_ratio_low": None,
            "storage_ratio_high": None,
            "measured_storage_ratio": None,
            "held": held,
            "note": "the pool is warming up" if held is None else None,
        }


def clock():
    yield {"buffers": 24576, "hand": 6144, "passes": 42} | {
        "inspected_per_allocation": 2.4,
        "seconds_per_pass": 6.7,
    }


def pool():
    for number, name in enumerate(list(names())[:4]):
        yield name | {
            "fork": "main" if number else "fsm",
            **interval("bytes", 40 * MB, 0),
            "idle_bytes": 7 * number * MB,
            "dirty_bytes": MB,
            "usagecount_avg": 2.5,
            "stay_seconds": 42.0,
        }


def caches():
    yield {"relation": None, "oid": None, "fork": None, "bytes": 1500 * MB, "shared_bytes": 180 * MB} | {
        "os_bytes": 170 * MB,
        **interval("both_bytes", 112 * MB, 0),
    }
    for number, name in enumerate(NAMES):
        yield {"relation": name, "oid": 16384 + number, "fork": "main", "bytes": 500 * MB, "shared_bytes": 60 * MB} | {
            "os_bytes": 55 * MB,
            **interval("both_bytes", (number + 1) * 18 * MB, 0),
        }


def maps():
    for number, name in enumerate(NAMES):
        cells = [
            {"blocks": 600, "shared_blocks": 6 * (i % 50), "os_blocks": 300 - 2 * i, "both_blocks": i % 50}
            for i in range(96)
        ]
        yield {"relation": name, "oid": 16384 + number, "fork": "main", "bytes": 500 * MB} | {
            "cells": cells,
        }


def consumers():
    yield {"consumer": "shared_buffers", "today_bytes": 192 * MB}
    yield {"consumer": "work_mem", "today_bytes": None}
    yield {"consumer": "total", "today_bytes": 400 * MB}


def settings():
    yield {"name": "shared_buffers", "setting": "192MB"}


MAKERS = {
    f.__name__: f
    for f in (
        verdict,
        checkup,
        status,
        hours,
        sizes,
        memory,
        usage,
        history,
        victims,
        scans,
        gains,
        predictions,
        clock,
        pool,
        caches,
        settings,
        maps,
        consumers,
    )
}


def fact(rows=None, unknown=None, notes=()):
    about = {"unknown": unknown, "sqlstate": unknown and "55000", "notes": list(notes)}
    return {"call": "pgbufprobe_x()", "rows": rows, **about}


def report(**replaced):
    """Returns a report. Facts can be replaced by name."""
    facts = {name: fact(list(make())) for name, make in MAKERS.items()} | replaced
    server = {
        "version": "PostgreSQL 15.18 on x86_64",
        "server_version": "15.18",
        "extension_version": "1.0",
        "database": "shop</script>",
        "database_oid": 5,
        "cluster_name": "",
        "system_identifier": "7500000000000000001",
        "standby": False,
        "started_at": "2026-11-22T09:00:00+00:00",
        "block_bytes": BLOCK,
        "shared_buffers_bytes": 192 * MB,
        "host": "db1.example",
    }
    return {
        "pgbufprobe_report": 2,
        "redacted": False,
        "taken_at": "2026-11-22T12:00:00+00:00",
        "seconds": 0.9,
        "sampled": {"pool": 1.0, "files": 1.0},
        "server": server,
        "facts": facts,
    }


def unknown_report():
    """Returns a report about a server without the sampler, where what can be unknown is."""
    reason = "nothing watches this server, because no sampler is running"
    lost = dict.fromkeys(
        (
            "verdict",
            "checkup",
            "hours",
            "status",
            "memory",
            "history",
            "predictions",
            "usage",
            "victims",
            "scans",
            "clock",
            "pool",
        )
    )
    missing = {name: fact(None, reason, [f'about "{EVIL}"']) for name in lost}
    blind = [row | {"os_bytes": None} | interval("both_bytes", None, 0) for row in caches()]
    dark = [
        row | {"cells": [c | {"os_blocks": None, "both_blocks": None} for c in row["cells"] or []]} for row in maps()
    ]
    return report(**missing, sizes=fact(list(sizes(known=False))), caches=fact(blind), maps=fact(dark), gains=fact([]))


FLEET = ("change", "consider", "fine", "unknown")


def fleet(count):
    """Yields reports of servers by name: each verdict in turn, of other sizes and gains. Names are hostile."""
    for number in range(count):
        kind, today = FLEET[number % 4], 192 * MB
        larger, smaller = (288 * MB, 240 * MB), (96 * MB, 96 * MB)
        change = smaller if number % 8 else larger
        sizes_of = {"change": change, "consider": larger, "fine": (today, 144 * MB), "unknown": (None, None)}
        advised, equal_from = sizes_of[kind]
        saved = 10.0 * (number + 1) if kind in ("change", "consider") else None
        row = {
            "verdict": kind,
            "advised_bytes": advised,
            "equal_from_bytes": equal_from,
            "equal_to_bytes": None if kind == "unknown" else 288 * MB,
            "saved_ms_per_second": saved,
            "saved_ms_low": saved and saved - 5,
            "saved_ms_high": saved and saved + 5,
        }
        found = report(
            verdict=fact(list(verdict(**row))),
            sizes=fact(list(sizes(today, {96 * MB: 0.5, 288 * MB: 1.5}.get(advised), kind != "unknown"))),
        )
        found["server"]["cluster_name"] = EVIL if number % 10 == 3 else f"{15 + number % 5}/main"
        yield f"db{number:02}", found


def made(data=None):
    return parsed(Report, data or report())
