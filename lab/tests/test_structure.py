"""The packages, what they may import, and the style of the code."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from pgbufprobe_lab.analysis.published import EXPERIMENTS
from pgbufprobe_lab.measure.scenarios import NAMES as SCENARIOS
from pgbufprobe_lab.samples import NAMES

LAB = Path(__file__).resolve().parents[1]
PACKAGE = "pgbufprobe_lab"
SHARED = {"samples", "sizes"}

# What each package may import besides itself.
ALLOWED = {
    "measure": SHARED,
    "analysis": SHARED,
    "report": SHARED | {"analysis"},
}


def modules():
    return {path: path.relative_to(LAB / PACKAGE) for path in sorted((LAB / PACKAGE).rglob("*.py"))}


def imported(path):
    """Yields the modules of the laboratory that a file imports, at its beginning or later."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith(f"{PACKAGE}."))


@pytest.mark.parametrize("package", ALLOWED)
def test_packages_import_only_what_they_may(package):
    files = [path for path, relative in modules().items() if relative.parts[0] == package]
    assert files
    for path in files:
        assert set(imported(path)) <= ALLOWED[package] | {package}, path


def test_shared_modules_import_no_package():
    for name in SHARED:
        assert set(imported(LAB / PACKAGE / f"{name}.py")) <= SHARED, name


@pytest.mark.parametrize(
    "package, others",
    [
        ("measure.runner", ("analysis", "report")),
        ("analysis.verdicts", ("measure", "report")),
        ("report", ("measure",)),
    ],
)
def test_an_import_loads_no_other_package(package, others):
    program = f"import sys, {PACKAGE}.{package}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], cwd=LAB, capture_output=True, text=True, check=True).stdout
    for other in others:
        assert f"{PACKAGE}.{other}" not in loaded.split()


def test_all_packages_know_the_same_scenarios():
    assert NAMES == SCENARIOS == tuple(EXPERIMENTS)


def test_files_are_short():
    for path in modules():
        assert len(path.read_text().splitlines()) < 400, path
