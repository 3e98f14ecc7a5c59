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
QUESTIONS = {
    "size": ("Which size should shared_buffers have?", "change", 0.5),
    "pool_full": ("Is the pool full?", "fine", 1.0),
    "page_lifetime": ("How long does an unused page stay?", "fine", 9.9),
    "victim_cost": ("What does finding a victim buffer cost, now and at worst?", "fine", 0.04),
    "dirty_victims": ("Do sessions have to write before they can read?", "consider", 0.6),
    "scan_cost": ("How long does each DROP or checkpoint scan the pool?", "unknown", None),
    "cached_twice": ("How much of the pool is cached twice?", "consider", 0.585),
    "planner_cache": ("Does the planner know how much is cached?", "fine", 0.9),
    "memory": ("How much memory does the load need?", "consider", 2.0),
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
        "advised_read_ms_per_second": 262.0,
        "saved_ms_per_second": 34.4,
        "saved_ms_low": 30.0,
        "saved_ms_high": 38.8,
        "work_ms_per_second": 688.0,
        "seen_seconds": 84600.0,
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
    for key, (question, verdict, value) in QUESTIONS.items():
        answer = "Take 96 MB of the 369 MB that both caches have." if key == "size" else f"The answer about {key}."
        action = f"What to do about {key}." if verdict in ("consider", "change") else None
        yield {"key": key, "question": question, "answer": answer, "value": value} | {
            "verdict": verdict,
            "action": action,
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
            "estd_miss_ratio": miss if known and fits else None,
            "miss_ratio_low": miss - 0.005 if known and fits else None,
            "miss_ratio_high": miss + 0.005 if known and fits else None,
            "estd_storage_ratio": wait if known else None,
            "storage_ratio_low": wait - 0.009 if known and fits else None,
            "storage_ratio_high": wait + 0.009 if known and fits else None,
            "estd_read_ms_per_second": 2000 * wait if known and fits else None,
            "read_ms_low": 1800 * wait if known and fits else None,
            "read_ms_high": 2200 * wait if known and fits else None,
            "window_seconds": 55.4 if known else None,
            "reads_seen": 91628 if known else None,
            "self_error": -0.031 if known else None,
            "storage_self_error": 0.002 if known else None,
            "missed_loads": 0.01 if known else None,
            "note": None
            if known or not fits
            else "nothing watches this server, because no sampler is running; "
            "SELECT pgbufprobe_start() starts one without a restart",
        }


def sizes_added(pool=192 * MB):
    for factor, miss in zip(SIZES, MISSES, strict=True):
        yield {"size_factor": factor, "shared_buffers_bytes": int(pool * factor), "estd_miss_ratio": miss}


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
            "memory_factor": factor,
            "memory_bytes": int((400 + (factor - 1) * 369) * MB),
            "shared_buffers_bytes": pool if wait else None,
            "os_cache_bytes": int(factor * 369 * MB - pool) if wait else None,
            "mark": mark,
            "estd_storage_ratio": wait,
            "storage_ratio_low": wait and wait - 0.01,
            "storage_ratio_high": wait and wait + 0.01,
            "estd_read_ms_per_second": wait and (2500 if mark == "today" else 2000) * wait,
            "read_ms_low": wait and 1800 * wait,
            "read_ms_high": wait and 2700 * wait,
            "estd_work_ms_per_second": wait and 400 + 2000 * wait,
            "work_ms_low": wait and 400 + 1900 * wait,
            "work_ms_high": wait and 400 + 2100 * wait,
            "note": None if wait else "54 % of the reads have been seen that are needed",
        }


def usage():
    for count, buffers in (*enumerate((2000, 9000, 4000, 3000, 2000, 4476)), (None, 100)):
        yield {
            "usagecount": count,
            "bytes": buffers * BLOCK,
            "dirty": buffers // 10,
            "pinned": 0,
            "fraction": buffers / 24576,
            "buffers_error": 0,
        }


def history():
    for minute in range(60):
        yield {
            "taken_at": f"2026-11-22T11:{minute:02}:00.5+00:00",
            "seconds_per_pass": 6.7 + minute / 60 if minute else None,
            "usagecounts": [2000 + 10 * minute, 9000 - 10 * minute, 4000, 3000, 2000, 4476],
            "unused": 100,
        }


def victims():
    for scenario, us in (("current", 0.0378), ("worst", 1930.0)):
        costs = dict.fromkeys(("p50_us", "p95_us", "max_us"), us)
        yield {"scenario": scenario, "victims": 1000, **costs, "inspected_per_victim": 2.4} | {
            "dirty_victims": 600,
            "ms_per_pass": 0.37,
        }


def scans():
    for method, models in (("read", "nothing"), ("lock", "checkpoint"), ("match", "DROP, TRUNCATE")):
        yield {"method": method, "models": models, "avg_ms": 0.06, "min_ms": 0.0537, "max_ms": 0.21, "ms_per_gb": 0.3}


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
            "estd_loads": 24166 // (number + 1),
            "estd_reads_saved": 1000 * number,
            "estd_reads_saved_error": 50,
            "estd_reads_added": 900,
            "estd_reads_added_error": 50,
            "estd_storage_reads_saved": -200 if number else None,
            "estd_storage_reads_saved_error": 80 if number else None,
            "working_set_bytes": 50 * MB,
            "working_set_bytes_error": MB,
            "note": f'about "{name["relation"]}"' if number == 0 else None,
        }


def predictions():
    for held in (True, False, None):
        yield {
            "made_at": "2026-11-22T10:00:00.123456+00:00",
            "from_bytes": 192 * MB,
            "to_bytes": {True: 96, False: 128, None: 256}[held] * MB,
            "estd_miss_ratio": 0.2125,
            "miss_ratio_low": 0.207,
            "miss_ratio_high": 0.218,
            "measured_miss_ratio": None if held is None else 0.2154,
            "estd_storage_ratio": None,
            "storage_ratio_low": None,
            "storage_ratio_high": None,
            "measured_storage_ratio": None,
            "reads_seen": 138171,
            "held": held,
            "note": "the pool is warming up" if held is None else None,
        }


def clock():
    yield {"buffers": 24576, "hand": 6144, "passes": 42, "seconds": 0.5} | {
        "allocations_per_second": 1500.0,
        "inspected_per_allocation": 2.4,
        "seconds_per_pass": 6.7,
    }


def pool():
    for number, name in enumerate(list(names())[:4]):
        yield name | {
            "fork": "main" if number else "fsm",
            "bytes": 40 * MB,
            "idle_bytes": 7 * number * MB,
            "dirty_bytes": MB,
            "usagecount_avg": 2.5,
            "bytes_error": 0,
        }


def caches():
    yield {"relation": None, "oid": None, "fork": None, "bytes": 1500 * MB, "shared_bytes": 180 * MB} | {
        "os_bytes": 170 * MB,
        "both_bytes": 112 * MB,
        "both_bytes_error": 0,
        "trustworthy": True,
    }
    for number, name in enumerate(NAMES):
        yield {"relation": name, "oid": 16384 + number, "fork": "main", "bytes": 500 * MB, "shared_bytes": 60 * MB} | {
            "os_bytes": 55 * MB,
            "both_bytes": (number + 1) * 18 * MB,
            "both_bytes_error": 0,
            "trustworthy": True,
        }


def maps():
    for number, name in enumerate(NAMES):
        cells = [
            {"blocks": 600, "shared_blocks": 6 * (i % 50), "os_blocks": 300 - 2 * i, "both_blocks": i % 50}
            for i in range(96)
        ]
        failed = number == 2
        yield {"relation": name, "oid": 16384 + number, "fork": "main", "bytes": 500 * MB} | {
            "cells": None if failed else cells,
            "unknown": f'could not open file of "{EVIL}"' if failed else None,
            "sqlstate": "58P01" if failed else None,
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
        hours,
        sizes,
        sizes_added,
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
    return {"call": "pgbufprobe_x()", "rows": rows, **about, "seconds": 0.012}


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
        "pgbufprobe_report": 1,
        "redacted": False,
        "taken_at": "2026-11-22T12:00:00+00:00",
        "seconds": 0.9,
        "sampled": {"pool": 1.0, "files": 1.0},
        "server": server,
        "facts": facts,
    }


def unknown_report():
    """Returns a report about a server without the worker, where what can be unknown is."""
    reason = "nothing watches this server, because no sampler is running"
    lost = dict.fromkeys(
        (
            "verdict",
            "checkup",
            "hours",
            "sizes_added",
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
    blind = [row | {"os_bytes": None, "both_bytes": None, "trustworthy": False} for row in caches()]
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
