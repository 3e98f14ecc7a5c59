"""Memory cgroups, with folders in place of the kernel's."""

import os

import pytest

from pgbufprobe_lab.measure import cgroup
from pgbufprobe_lab.measure.cgroup import Cgroup, Cgroups


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """A folder in which new groups get the files of the kernel, and can be removed with them."""
    make, remove = os.mkdir, os.rmdir
    files = {
        "memory.limit_in_bytes": "",
        "memory.max": "",
        "memory.swap.max": "",
        "cgroup.procs": "",
        "memory.events": "low 0\noom_kill 0\n",
        "memory.oom_control": "oom_kill_disable 0\noom_kill 0\n",
    }

    def mkdir(path, *args, **kwargs):
        make(path, *args, **kwargs)
        for name, content in files.items():
            with open(os.path.join(path, name), "w") as file:
                file.write(content)

    def rmdir(path, *args, **kwargs):
        for name in files:
            os.unlink(os.path.join(path, name))
        remove(path, *args, **kwargs)

    monkeypatch.setattr(os, "mkdir", mkdir)
    monkeypatch.setattr(os, "rmdir", rmdir)
    return tmp_path


V1 = "cgroup {at} cgroup rw,relatime,memory 0 0\n"
V2 = "cgroup2 {at} cgroup2 rw,relatime 0 0\n"


def test_v1_is_found(kernel):
    found = cgroup.find(V1.format(at=kernel), "3:memory:/\n0::/\n")
    assert (found.base, found.how, found.why) == (kernel, "cgroup v1", None)
    assert list(kernel.iterdir()) == []


def test_v1_in_own_group(kernel):
    (own := kernel / "mine").mkdir()
    assert cgroup.find(V1.format(at=kernel), "3:memory:/mine\n").base == own


def test_v2_goes_up_to_where_the_controller_is(kernel):
    (own := kernel / "mine").mkdir()
    (own / "cgroup.subtree_control").write_text("cpu\n")
    (own / "cgroup.subtree_control").chmod(0o444)
    (kernel / "cgroup.subtree_control").write_text("cpu memory\n")
    found = cgroup.find(V2.format(at=kernel), "0::/mine\n")
    # Root can write the read-only file, so the controller may already be enabled there.
    assert found.how == "cgroup v2"
    assert found.base in (kernel, own)


def test_none_without_a_mount():
    found = cgroup.find("proc /proc proc rw 0 0\n", "0::/\n")
    assert (found.base, found.how) == (None, "none")
    assert found.why == "this machine has no memory cgroups"


def test_none_without_the_right(tmp_path, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "mkdir", refuse)
    found = cgroup.find(V1.format(at=tmp_path), "3:memory:/\n")
    assert found.base is None
    assert found.why == f"could not create a memory cgroup in {tmp_path}: Permission denied"


@pytest.mark.parametrize(
    "version, file, other", [(1, "memory.limit_in_bytes", "memory.max"), (2, "memory.max", "memory.limit_in_bytes")]
)
def test_limit_is_written_and_group_removed(kernel, version, file, other):
    group = Cgroups(kernel, version).make(256 << 20)
    assert (group.folder / file).read_text() == str(256 << 20)
    assert (group.folder / other).read_text() == ""
    group.remove()
    assert not group.folder.exists()


@pytest.mark.parametrize("version, file", [(1, "memory.oom_control"), (2, "memory.events")])
def test_kills_are_counted(kernel, version, file):
    group = Cgroups(kernel, version).make(1 << 28)
    assert group.kills() == 0
    (group.folder / file).write_text("under_oom 0\noom_kill 3\n")
    assert group.kills() == 3


def test_groups_of_dead_runs_are_removed(kernel):
    dead, alive = Cgroup(kernel / f"{cgroup.PREFIX}4194399", 1), Cgroup(kernel / f"{cgroup.PREFIX}{os.getpid()}", 1)
    dead.make(1)
    alive.make(1)
    Cgroups(kernel, 1).remove_stale()
    assert not dead.folder.exists()
    assert alive.folder.exists()
