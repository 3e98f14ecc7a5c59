"""One module a scenario, each with its SCENARIO."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..lab import Scenario

NAMES = ("A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "B", "C", "D", "E1", "E2", "E3", "E4", "E5")


def load(name: str) -> "Scenario":
    return import_module(f".{name.lower()}", __name__).SCENARIO
