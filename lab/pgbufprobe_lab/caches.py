"""What the kernel has of a data directory: written out and forgotten."""

import os
from pathlib import Path


def _files(folder: Path):
    for at, _, names in os.walk(folder, followlinks=True):
        for name in names:
            yield os.path.join(at, name)


def drop(folder: Path) -> None:
    """Drops the page cache of all files in the folder, and of no others: the machine is not ours alone.

    Files are synced first. The kernel keeps dirty pages, and pages that were written outside of the
    server's memory cgroup would stay cached without being counted there.
    """
    for path in _files(folder):
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            continue         # a socket, or gone
        try:
            os.fdatasync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError:
            pass
        finally:
            os.close(handle)
