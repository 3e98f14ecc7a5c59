"""One module for each scenario, each with its SCENARIO."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgbufprobe_lab.measure.trial import Scenario

MODULES = {
    "A1": "a1_pool_hit",
    "A2": "a2_clock_sweep",
    "A3": "a3_page_cache_hit",
    "A4": "a4_update_commit",
    "A5": "a5_pool_scan",
    "A6": "a6_clients",
    "A7": "a7_double_buffering",
    "A8": "a8_sequential_scan",
    "B": "b_vacuum_ring",
    "C": "c_indexes",
    "D": "d_row_order",
    "E1": "e1_cached_reads",
    "E2": "e2_updates",
    "E3": "e3_vacuum_jobs",
    "E4": "e4_brin",
    "E5": "e5_data_directories",
    "F": "f_hands",
}
NAMES = tuple(MODULES)


def load(name: str) -> "Scenario":
    return import_module(f"{__name__}.{MODULES[name]}").SCENARIO
