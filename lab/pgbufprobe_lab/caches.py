"""What the kernel has of a data directory: written out and forgotten."""

import ctypes
import os
from pathlib import Path
from typing import Iterator

_WRITE_AND_WAIT = 1 | 2 | 4      # SYNC_FILE_RANGE_WAIT_BEFORE, _WRITE, _WAIT_AFTER

_libc = ctypes.CDLL(None, use_errno=True)
_libc.sync_file_range.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)


def _write_out(handle: int) -> None:
    """The kernel's dirty pages of the file. Not fdatasync(): flushing the device's own cache takes a millisecond
    a file, and nothing here must survive a power failure."""
    if _libc.sync_file_range(handle, 0, 0, _WRITE_AND_WAIT) != 0:
        os.fdatasync(handle)


def _files(folder: Path) -> Iterator[str]:
    for at, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(at, name)


def drop(folder: Path) -> None:
    """Drops the page cache of all files in the folder, and of no others: the machine is not ours alone.

    Files are written out first. The kernel keeps dirty pages, and pages that were written outside of the
    server's memory cgroup would stay cached without being counted there.
    """
    for path in _files(folder):
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue         # a socket, or gone
        try:
            _write_out(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError:
            pass             # no regular file
        finally:
            os.close(handle)
