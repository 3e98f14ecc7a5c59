"""The server's programs and the extension, provided by lab/prepare-server until this process ends."""

import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from pgbufprobe_lab.measure.errors import LabError

SCRIPT = Path(__file__).resolve().parents[2] / "prepare-server"

# Runs one program in a root folder, with its own mounts. $1 is a folder to mount as /mnt, or "".
_IN_ROOT = """mount -t proc proc "$0/proc"
mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm"
[ -z "$1" ] || mount --bind "$1" "$0/mnt"
root=$0
shift
exec chroot "$root" env -i HOME=/root LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@\""""


@dataclass
class Description:
    """The output of lab/prepare-server."""

    values: dict[str, str] = field(default_factory=dict)
    setting: list[str] = field(default_factory=list)
    as_server: list[str] = field(default_factory=list)

    def take(self, line: str) -> None:
        name, _, value = line.partition("\t")
        if name in ("setting", "as_server"):
            getattr(self, name).append(value)
        else:
            self.values[name] = value


class Installation:
    """Runs the server's programs, as the user who may run them."""

    def __init__(self, major: int | None = None):
        self.log = tempfile.TemporaryFile("w+")
        command = [str(SCRIPT), *([str(major)] if major else [])]
        # Its own session: Ctrl-C must reach only this process, which then cleans up in order.
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
            if "ready" in self.about.values:
                return
        self.process.wait()
        self.log.seek(0)
        said = self.log.read().strip()
        raise LabError(f"could not prepare a server:\n{said}")

    # --- paths as this process sees them ---

    @property
    def root(self) -> str:
        """The root folder of the server, or an empty string if it is "/"."""
        return self.about.values.get("root", "")

    @property
    def version(self) -> str:
        return self.about.values["version"].removeprefix("postgres (PostgreSQL) ")

    @property
    def major(self) -> int:
        return int("".join(c if c.isdigit() else " " for c in self.version).split()[0])

    @property
    def work(self) -> Path:
        return Path(self.root + self.about.values["work"])

    @property
    def socket_dir(self) -> Path:
        return Path(self.root + self.socket_dir_in_root)

    @property
    def socket_dir_in_root(self) -> str:
        return self.about.values["sock"]

    @property
    def port(self) -> int:
        return int(self.about.values["port"])

    def owner(self) -> tuple[int, int]:
        """Returns the user and the group that run the server."""
        stat = self.work.stat()
        return stat.st_uid, stat.st_gid

    def path_in_root(self, path: Path, mounted: Path | None = None) -> str:
        """Returns the path as the server sees it."""
        if not self.root:
            return str(path)
        if mounted is not None:
            return str(Path("/mnt") / path.relative_to(mounted))
        return str(path).removeprefix(self.root)

    def command(self, program: str, *arguments: str, mount: Path | None = None) -> list[str]:
        """Returns the command line of one of the server's programs, or of a program with its path, which ends when
        this process does."""
        words = [*self.about.as_server, "setpriv", "--pdeathsig", "QUIT", "--"]
        words += [str(Path(self.about.values["bin"], program)), *arguments]
        if self.root:
            words = [
                "unshare",
                "--mount",
                "--propagation",
                "private",
                "sh",
                "-ec",
                _IN_ROOT,
                self.root,
                str(mount or ""),
                *words,
            ]
        return words

    def run(self, program: str, *arguments: str, mount: Path | None = None) -> str:
        return self.outputs(program, *arguments, mount=mount)[0]

    def run_own(self, program: str) -> str:
        """Runs a program that lab/prepare-server has compiled."""
        return self.run(f"{self.about.values['work']}/{program}")

    def outputs(self, program: str, *arguments: str, mount: Path | None = None) -> tuple[str, str]:
        """Runs a program and returns its standard output and error. If it fails, raises its last lines."""
        process = subprocess.Popen(
            self.command(program, *arguments, mount=mount),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
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
        """Ends the input of the script, which then removes everything."""
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            self.process.wait()
        self.log.close()
