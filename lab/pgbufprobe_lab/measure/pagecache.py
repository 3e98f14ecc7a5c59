"""Writes the files of a data directory out and drops them from the page cache."""

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

_WRITE_AND_WAIT = 1 | 2 | 4  # SYNC_FILE_RANGE_WAIT_BEFORE, _WRITE, _WAIT_AFTER

_libc = ctypes.CDLL(None, use_errno=True)
_libc.sync_file_range.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)


def _write_out(handle: int) -> None:
    """Writes out the dirty pages of a file. fdatasync() would also flush the device's own cache, which takes a
    millisecond per file, and nothing here has to survive a power failure."""
    if _libc.sync_file_range(handle, 0, 0, _WRITE_AND_WAIT) != 0:
        os.fdatasync(handle)


def _files(folder: Path) -> Iterator[str]:
    for at, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(at, name)


def drop(folder: Path) -> None:
    """Drops all files in the folder from the page cache, and no others, because the machine may be shared.

    Files are written out first. The kernel keeps dirty pages, and pages written outside the server's memory
    cgroup would stay cached without being counted there.
    """
    for path in _files(folder):
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue  # a socket, or removed meanwhile
        try:
            _write_out(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError:
            pass  # not a regular file
        finally:
            os.close(handle)
