"""The console page shows the verdict that the series have, and has none of its own."""

import re
import time
import urllib.parse
from pathlib import Path

import pytest
from prometheus import get, prometheus

ROOT = Path(__file__).resolve().parents[2]
MB = 2**20
# Of each instance, columns of its verdict.
BETTER = {"equal_from_bytes": 48 * MB, "equal_to_bytes": 64 * MB, "read_seconds_per_second": 0.3} | {
    "saved_seconds_per_second": 0.25,
    "saved_seconds_per_second_low": 0.2,
    "saved_seconds_per_second_high": 0.35,
    "work_seconds_per_second": 1.5,
    "seen_seconds": 7200,
}
VERDICTS = {
    "smaller": {"change": 1, "advised_bytes": 64 * MB} | BETTER,
    "larger": {"change": 1, "advised_bytes": 256 * MB} | BETTER,
    "doubtful": {"consider": 1, "advised_bytes": 256 * MB} | BETTER,
    "keep": {"fine": 1, "advised_bytes": 128 * MB, "read_seconds_per_second": 0.002},
    "unknown": {"unknown": 1},
}
SIZES = {"0.5": 64, "1": 128, "2": 256}


def exposition(_):
    for instance, columns in VERDICTS.items():
        flags = dict.fromkeys(("fine", "consider", "change", "unknown"), 0)
        for name, value in (flags | {"today_bytes": 128 * MB, "seen_seconds": 0} | columns).items():
            yield f'pgbufprobe_verdict_{name}{{instance="{instance}"}} {value}\n'
        yield f'pgbufprobe_clock_pool_size_bytes{{instance="{instance}"}} {128 * MB}\n'
        yield f'pgbufprobe_advice_self_error{{instance="{instance}"}} -0.125\n'
        for state, size in {"both": 80, "shared": 100, "distinct": 200}.items():
            yield f'pgbufprobe_caches_{state}_bytes{{instance="{instance}",datname="shop"}} {size * MB}\n'
        for factor, size in SIZES.items():
            of = f'instance="{instance}",size_factor="{factor}"'
            yield f"pgbufprobe_size_shared_buffers_bytes{{{of}}} {size * MB}\n"
            yield f"pgbufprobe_size_advised{{{of}}} {int(size * MB == columns.get('advised_bytes'))}\n"
            yield f"pgbufprobe_size_fits{{{of}}} 1\n"
            yield f"pgbufprobe_size_os_cache_bytes{{{of}}} {(500 - size) * MB}\n"
            for figure, value in {"": 0.3, "_low": 0.25, "_high": 0.35}.items():
                yield f"pgbufprobe_size_read_seconds_per_second{figure}{{{of}}} {value}\n"


@pytest.fixture(scope="module")
def console(tmp_path_factory):
    """A function that returns the page of an instance, without spaces at line breaks."""
    with prometheus(tmp_path_factory.mktemp("console"), exposition) as (address, _):

        def page(instance):
            deadline = time.monotonic() + 30
            query = urllib.parse.urlencode({"instance": instance})
            while "</h2>" not in (text := get(f"http://{address}/consoles/pgbufprobe.html?{query}")):
                assert time.monotonic() < deadline, text
                time.sleep(0.5)
            return " ".join(text.split())

        yield page


def first(page):
    """The first answer without tags, and its verdict."""
    answer = re.search(r"Size of shared_buffers</h2> <p>(.*?)<b class=\"(\w+)\">(\w+)</b></p>", page)
    assert answer[2] == answer[3]
    return answer[1].strip(), answer[2]


SAVED = "Sessions would wait 250 ms (200 ms to 350 ms) less for reads in each second: 50 ms instead of 300 ms."
WORK = "They work 1.5 s in each second. 48 MB to 64 MB cannot be told apart."


@pytest.mark.parametrize(
    "instance, answer, verdict",
    [
        ("smaller", f"Take 64 MB instead of 128 MB. {SAVED} {WORK}", "change"),
        ("larger", f"Take 256 MB instead of 128 MB. {SAVED} {WORK}", "change"),
        ("doubtful", f"Take 256 MB instead of 128 MB. {SAVED} {WORK}", "consider"),
        ("keep", "Keep 128 MB. Sessions wait 2 ms for reads in each second.", "fine"),
        (
            "unknown",
            "Too early or uncertain to decide, or the reads cannot be seen; the checkup on the server has the reason.",
            "unknown",
        ),
    ],
)
def test_the_verdict_is_that_of_the_server(console, instance, answer, verdict):
    assert first(console(instance)) == (answer, verdict)


def test_figures_have_their_intervals_and_the_error_of_the_estimate(console):
    page = console("smaller")
    assert page.count("300 ms (250 ms to 350 ms)") == len(SIZES)
    assert "Error of the estimate: reads -12.5 %, storage reads unknown." in page
    assert "Seen: 2 h 0 m 0 s." in page
    assert re.findall(r'<tr class="(\w*)" data-bytes="(\d+)"', page) == [
        ("advised", str(64 * MB)),
        ("today", str(128 * MB)),
        ("", str(256 * MB)),
    ]


@pytest.mark.parametrize("instance, verdict", [("keep", "fine"), ("unknown", "consider")])
def test_pages_in_both_caches_matter_while_no_size_is_decided(console, instance, verdict):
    answer = re.search(r'80 MB of the 100 MB in use are also in the page cache.*?<b class="(\w+)">', console(instance))
    assert answer[1] == verdict


def test_what_both_caches_can_hold_is_a_figure_without_advice(console):
    """Whether effective_cache_size should change depends on its value and on all data, which no series has."""
    (said,) = re.findall(r"<p>([^<]*effective_cache_size[^<]*)</p>", console("keep"))
    assert said == (
        "Without pages that are in both, both caches can hold 420 MB. "
        "The checkup on the server compares effective_cache_size with this."
    )


def test_thresholds_of_the_other_answers_are_those_of_the_checkup():
    checkup = (ROOT / "src/answers/checkup.c").read_text()
    text = (ROOT / "monitoring/prometheus/pgbufprobe.html").read_text()
    limits = dict(re.findall(r"^#define (\w+)\s+([\d.]+)", checkup, re.MULTILINE))
    of = {name: float(value) for name, value in limits.items()}
    written = [(float(consider), float(change)) for consider, change in re.findall(r"([\d.]+) ([\d.]+)\) }}</p>", text)]
    assert written == [
        (of["SLOW_SEARCH_US"] / 1e6, of["VERY_SLOW_SEARCH_US"] / 1e6),
        (of["MANY_DIRTY"], 1),
        (of["SLOW_SCAN_MS"] / 1e3, of["VERY_SLOW_SCAN_MS"] / 1e3),
        (of["MOSTLY_TWICE"], 1),
    ]
