"""The server's programs and the extension, had by lab/prepare-server and gone when this process is."""

import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from .errors import LabError

SCRIPT = Path(__file__).resolve().parent.parent / "prepare-server"

# Mounts of a root folder, for one program; they end with it. $1 is a folder to be seen as /mnt, or "".
_IN_ROOT = """mount -t proc proc "$0/proc"
mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm"
[ -z "$1" ] || mount --bind "$1" "$0/mnt"
root=$0
shift
exec chroot "$root" env -i HOME=/root LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@\""""


@dataclass
class Description:
    """What lab/prepare-server says."""

    words: dict[str, str] = field(default_factory=dict)
    setting: list[str] = field(default_factory=list)
    as_server: list[str] = field(default_factory=list)

    def take(self, line: str) -> None:
        name, _, value = line.partition("\t")
        if name in ("setting", "as_server"):
            getattr(self, name).append(value)
        else:
            self.words[name] = value


class Workshop:
    """Knows how to run the server's programs as the user who may, where they are."""

    def __init__(self, major: int | None = None):
        self.log = tempfile.TemporaryFile("w+")
        command = [str(SCRIPT), *([str(major)] if major else [])]
        # A session of its own, so that an interrupt reaches this process alone and cleaning up is orderly.
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, start_new_session=True
        )
        self.about = Description()
        try:
            self._read_description()
        except BaseException:
            self.close()
            raise

    def _read_description(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.about.take(line.rstrip("\n"))
            if "ready" in self.about.words:
                return
        self.process.wait()
        self.log.seek(0)
        said = self.log.read().strip()
        raise LabError(f"no server could be prepared:\n{said}")

    # --- where things are, seen from here ---

    @property
    def root(self) -> str:
        """The folder that is "/" for the server; empty if that is the real one."""
        return self.about.words.get("root", "")

    @property
    def version(self) -> str:
        return self.about.words["version"].removeprefix("postgres (PostgreSQL) ")

    @property
    def major(self) -> int:
        return int("".join(c if c.isdigit() else " " for c in self.version).split()[0])

    @property
    def work(self) -> Path:
        return Path(self.root + self.about.words["work"])

    @property
    def socket_dir(self) -> Path:
        return Path(self.root + self.about.words["sock"])

    @property
    def port(self) -> int:
        return int(self.about.words["port"])

    def owner(self) -> tuple[int, int]:
        """User and group that run the server."""
        stat = self.work.stat()
        return stat.st_uid, stat.st_gid

    def seen_by_server(self, path: Path, mounted: Path | None = None) -> str:
        """The path as the server sees it."""
        if not self.root:
            return str(path)
        if mounted is not None:
            return str(Path("/mnt") / path.relative_to(mounted))
        return str(path).removeprefix(self.root)

    def command(self, program: str, *arguments: str, mount: Path | None = None, die_with_us: bool = True) -> list[str]:
        """The words that run one of the server's programs."""
        words = list(self.about.as_server)
        if die_with_us:
            words += ["setpriv", "--pdeathsig", "QUIT", "--"]
        words += [f"{self.about.words['bin']}/{program}", *arguments]
        if self.root:
            words = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", _IN_ROOT, self.root,
                     str(mount or ""), *words]
        return words

    def run(self, program: str, *arguments: str, mount: Path | None = None) -> str:
        return self.outputs(program, *arguments, mount=mount)[0]

    def outputs(self, program: str, *arguments: str, mount: Path | None = None) -> tuple[str, str]:
        """Runs it to its end; its standard output and error. What it says in a failure is the exception."""
        process = subprocess.Popen(
            self.command(program, *arguments, mount=mount),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True, env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        try:
            output, errors = process.communicate()
        except BaseException:
            process.kill()
            process.wait()
            raise
        if process.returncode != 0:
            last = (errors or output).strip().splitlines()[-3:]
            raise RuntimeError(f"{program} failed: " + " / ".join(last))
        return output, errors

    def close(self) -> None:
        """Everything is removed by the script, when its input ends."""
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            self.process.wait()
        self.log.close()
