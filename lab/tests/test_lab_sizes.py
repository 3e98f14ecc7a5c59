"""Sizes, and figures derived from timed reads."""

import pytest

from pgbufprobe_lab.measure.plan import PROFILES, Plan
from pgbufprobe_lab.measure.scenarios.a2_clock_sweep import sweep_times
from pgbufprobe_lab.measure.scenarios.a8_sequential_scan import served_by
from pgbufprobe_lab.measure.scenarios.b_vacuum_ring import B
from pgbufprobe_lab.sizes import BLOCK, GB, KB, MB, format_bytes, parse_bytes, pool_sizes


@pytest.mark.parametrize(
    "text, count", [("512MB", 512 * MB), ("1.5 GB", GB + 512 * MB), ("8192", 8192), ("64k", 64 * KB)]
)
def test_parse_bytes(text, count):
    assert parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "MB", "1 pound", "-1GB", "1,5GB", "1e9"])
def test_parse_bytes_refuses(text):
    with pytest.raises(ValueError, match="not a size"):
        parse_bytes(text)


def test_format_bytes():
    assert [format_bytes(n) for n in (100, 2 * KB, 256 * MB, 1.5 * GB)] == ["100 bytes", "2 kB", "256 MB", "1.5 GB"]


def test_pools_keep_the_published_ratios():
    pools = pool_sizes(16 * GB)
    assert pools == {"small": 4 * GB, "middle": 8 * GB, "large": 12 * GB}
    assert all(size % BLOCK == 0 for size in pool_sizes(1_000_000_007).values())


def test_memory_above_the_ram_is_the_ram():
    plan = Plan.make("normal", ram=8 * GB, memory=16 * GB)
    assert plan.memory == 8 * GB
    assert not plan.limit_memory


def test_published_uses_the_ram():
    plan = Plan.make("published", ram=16 * GB)
    assert plan.memory == 16 * GB
    assert not plan.limit_memory
    assert Plan.make("quick", ram=16 * GB).limit_memory


def test_sweep_times_are_what_a_sweep_adds():
    timed = [(1, 0.5, 0.0), (2, 0.7, 0.01), (3, 31.5, 1.0), (4, 0.5, 0.0), (5, 60.5, 2.0)]
    assert sweep_times(timed) == [(3, 31.0, 1.0), (5, 60.0, 2.0)]


def test_sweep_times_need_a_usual_read():
    assert sweep_times([(1, 31.5, 1.0)]) == []


def test_a_block_is_served_by_the_first_cache():
    held = {"blocks": 100, "shared": 50, "os": 60, "both": 30, "neither": 20}
    tiers = served_by(held)
    assert tiers == {"shared_buffers": 50, "os_cache": 30, "storage": 20}
    assert sum(tiers.values()) == held["blocks"]


@pytest.mark.parametrize("profile", PROFILES)
def test_b_has_rings_that_the_server_allows(profile):
    plan = Plan.make(profile, ram=24 * GB)
    limits = B()._limits(plan)
    assert limits == sorted(set(limits))
    assert limits[-1] <= B()._pool(plan) // 8
    assert min(limits) >= 128 * KB
