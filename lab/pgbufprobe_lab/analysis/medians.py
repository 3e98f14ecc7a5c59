"""Selects samples and computes their medians and spread."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Sample = Mapping[str, Any]
Samples = Sequence[Sample]


@dataclass(frozen=True)
class Summary:
    """Median over the trials, with the lowest and the highest trial."""

    median: float
    low: float
    high: float
    trials: int

    def scaled(self, factor: float) -> Summary:
        low, high = sorted((self.low * factor, self.high * factor))
        return Summary(self.median * factor, low, high, self.trials)


def pick(samples: Iterable[Sample], **wanted: Any) -> list[Sample]:
    """Returns the samples whose fields have these values; a tuple matches any of its values."""

    def fits(sample: Sample) -> bool:
        return all(
            sample.get(name) in value if isinstance(value, tuple) else sample.get(name) == value
            for name, value in wanted.items()
        )

    return [sample for sample in samples if fits(sample)]


def distinct(samples: Iterable[Sample], field: str) -> list[Any]:
    """Returns the sorted values of a field; samples without it are ignored."""
    return sorted({sample[field] for sample in samples if sample.get(field) is not None})


def summary_of(values: Iterable[float]) -> Summary | None:
    """Summarizes one figure per trial."""
    figures = list(values)
    if not figures:
        return None
    return Summary(statistics.median(figures), min(figures), max(figures), len(figures))


def by_trial(samples: Iterable[Sample]) -> dict[Any, float]:
    """Returns the median of each trial."""
    trials: dict[Any, list[float]] = {}
    for sample in samples:
        trials.setdefault(sample.get("trial"), []).append(float(sample["value"]))
    return {trial: statistics.median(values) for trial, values in trials.items()}


def summarize(samples: Iterable[Sample]) -> Summary | None:
    """Summarizes the medians of the trials, so that each trial has the same weight."""
    return summary_of(by_trial(samples).values())


def paired(
    first: Iterable[Sample], second: Iterable[Sample], operation: Callable[[float, float], float | None]
) -> Summary | None:
    """Applies the operation to the two medians of each trial that has both, and summarizes the results."""
    one, other = by_trial(first), by_trial(second)
    results = (operation(one[trial], other[trial]) for trial in one if trial in other)
    return summary_of(result for result in results if result is not None)


def quotient(one: float, other: float) -> float | None:
    return one / other if other else None


def difference(one: float, other: float) -> float:
    return one - other


def best_of(groups: Mapping[Any, Summary], lowest: bool = False) -> Any:
    """Returns the key of the highest (or lowest) median, or None if there are no groups."""
    if not groups:
        return None
    return (min if lowest else max)(groups, key=lambda key: groups[key].median)


def grouped(samples: Iterable[Sample], field: str) -> dict[Any, Summary]:
    """Returns a summary for each value of a field, in order of the values."""
    samples = list(samples)
    groups: dict[Any, Summary] = {}
    for value in distinct(samples, field):
        summary = summarize(pick(samples, **{field: value}))
        if summary is not None:
            groups[value] = summary
    return groups
