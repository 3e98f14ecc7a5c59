"""Parsers of the output of other programs and of the kernel."""

import pytest

from pgbufprobe_lab.measure import machine, pagecache, pgbench, reads
from pgbufprobe_lab.measure.installation import Description
from pgbufprobe_lab.measure.scenarios.e2_updates import free_huge_pages, script_text

OUTPUT = """transaction type: <builtin: select only>
number of clients: 4
latency average = 0.213 ms
initial connection time = 8.1 ms
tps = 18790.254312 (without initial connection time)
"""
LOG = """progress: 1.0 s, 17000.1 tps, lat 0.230 ms stddev 0.05, 0 failed
progress: 2.0 s, 0.0 tps, lat NaN ms stddev NaN, 0 failed
progress: 3.0 s, 19000.2 tps, lat 0.210 ms stddev 0.05, 0 failed
"""


def test_pgbench_output():
    result = pgbench.parse(OUTPUT, LOG)
    assert (result.tps, result.latency_ms) == (18790.254312, 0.213)
    assert result.intervals == [(1.0, 17000.1, 0.23), (3.0, 19000.2, 0.21)]


def test_pgbench_without_a_rate():
    with pytest.raises(RuntimeError, match="no rate"):
        pgbench.parse("pgbench: error: client 0 aborted")


def test_filesystem_is_that_of_the_nearest_mount(tmp_path):
    (inner := tmp_path / "a b").mkdir()
    mounts = f"/dev/x / ext4 rw 0 0\n/dev/y {tmp_path} xfs rw 0 0\nnone {tmp_path}/a\\040b btrfs rw 0 0\n"
    assert machine.filesystem(inner / "data", mounts) == "btrfs"
    assert machine.filesystem(tmp_path, mounts) == "xfs"
    assert machine.filesystem(tmp_path.parent, mounts) == "ext4"


def test_chosen_blocks_are_the_same_again_and_differ_by_seed():
    first = reads.random_blocks("1/small", 1000, 100)
    assert first == reads.random_blocks("1/small", 1000, 100) != reads.random_blocks("2/small", 1000, 100)
    assert len(set(first)) == 100
    assert all(0 <= block < 1000 for block in first)
    assert len(reads.random_blocks("x", 10, 100)) == 100


def test_caches_are_dropped_and_files_unchanged(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file").write_bytes(b"x" * 100_000)
    (tmp_path / "link").symlink_to("/nowhere")
    pagecache.drop(tmp_path)
    assert (tmp_path / "sub" / "file").read_bytes() == b"x" * 100_000


def test_scripts_of_one_and_of_ten_updates_a_transaction():
    one, ten = script_text("write1", 1000), script_text("write10", 1000, " ISOLATION LEVEL REPEATABLE READ")
    assert one.count("UPDATE") == ten.count("UPDATE") == 10
    assert "BEGIN" not in one
    assert ten.count("BEGIN ISOLATION LEVEL REPEATABLE READ;") == ten.count("COMMIT;") == 1


def test_huge_pages():
    assert free_huge_pages("HugePages_Free:      3\nHugepagesize:       2048 kB\n") == 3 * 2048 * 1024
    assert free_huge_pages("MemTotal: 1 kB\n") == 0


def test_description_of_the_server():
    about = Description()
    for line in ("bin\t/usr/bin", "setting\tport=1", "setting\tname=a\tb", "as_server\tenv", "as_server\t"):
        about.take(line)
    assert about.values == {"bin": "/usr/bin"}
    assert about.setting == ["port=1", "name=a\tb"]
    assert about.as_server == ["env", ""]
