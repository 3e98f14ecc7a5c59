"""Replays traces through libcachesim's clock, and prints how far an exact clock sweep and the advice are from it."""

import lzma
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import libcachesim
import numpy as np

POOL = 8192
BUFFER_BYTES = 8192
ACCESSES = 2_000_000
SALTS = (1, 2, 3)


def zipf(random, pages, count):
    """Returns accesses of which the page of rank r has a share in proportion to 1 / r."""
    share = 1 / np.arange(1, pages + 1)
    return random.permutation(pages)[np.searchsorted(np.cumsum(share / share.sum()), random.random(count))]


def synthetic():
    """Yields the name and the pages of each trace that is made here."""
    random = np.random.default_rng(7)
    time = np.arange(ACCESSES)
    yield "zipf", zipf(random, 8 * POOL, ACCESSES)
    yield "uniform", random.integers(0, 2 * POOL, ACCESSES)
    yield "loop", time % int(1.3 * POOL)
    phase = time // (8 * POOL) % 2
    yield "phases", random.integers(0, int(0.85 * POOL), ACCESSES) + phase * POOL
    scan = time // 16 % int(1.5 * POOL) + 8 * POOL
    yield "scans", np.where(time % 16 < 15, zipf(random, 8 * POOL, ACCESSES), scan)


def recorded(paths):
    """Yields the name and the pages of each recorded trace, and of all one after the other."""
    keys = {
        path.name.partition(".")[0]: np.frombuffer(lzma.decompress(path.read_bytes()), dtype=">u4") for path in paths
    }
    if len(keys) > 1:
        keys[" then ".join(keys)] = np.concatenate(list(keys.values()))
    for name, values in keys.items():
        yield name, np.unique(values, return_inverse=True)[1]


# Policies by libcachesim, by their number here, which has no clock with a maximum of 5 or 2, and none of several hands.
POLICIES = {
    1: ("clock 1", lambda buffers: libcachesim.Clock(buffers, n_bit_counter=1, init_freq=1)),
    3: ("clock 15", lambda buffers: libcachesim.Clock(buffers, n_bit_counter=4, init_freq=1)),
    7: ("LRU", libcachesim.LRU),
    8: ("S3-FIFO", libcachesim.S3FIFO),
    9: ("optimum", libcachesim.Belady),
}


def next_accesses(pages):
    """Returns for each access when its page is accessed again."""
    seen = {}
    times = [0] * len(pages)
    for i in range(len(pages) - 1, -1, -1):
        times[i] = seen.get(pages[i], 2**62)
        seen[pages[i]] = i
    return times


def oracle(cache, pages, times, start):
    """Returns the miss ratio of one of libcachesim's caches from this access on."""
    request = libcachesim.Request(obj_size=1, op=libcachesim.ReqOp.OP_GET)
    misses = 0
    for i, (page, time) in enumerate(zip(pages, times, strict=True)):
        request.obj_id = page
        request.next_access_vtime = time
        misses += not cache.get(request) and i >= start
    return misses / (len(pages) - start)


def replay(program, file, salt, memory):
    """Returns where the window begins, and the lines about sizes, and about policies and sizes."""
    command = [program, file, str(POOL), str(memory), "8", str(salt)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [tuple(map(float, line.split())) for line in lines[1:]]
    return int(lines[0]), [row for row in rows if len(row) == 4], [row for row in rows if len(row) == 5]


class Score:
    """How far an exact simulation and the estimates from looks are from libcachesim."""

    def __init__(self, name):
        self.name = name
        self.exact, self.estimates, self.within, self.unknown = [], [], [], 0

    def compare(self, trace, truth, samples):
        """Prints and counts what samples say of one size: buffers, exact miss ratio, estimate, half of its interval."""
        buffers, exact = samples[0][:2]
        known = [(estimate, half) for *_, estimate, half in samples if not math.isnan(estimate)]
        self.exact.append(abs(exact - truth))
        self.estimates.extend(abs(estimate - truth) for estimate, _ in known)
        self.within.extend(abs(estimate - truth) <= half for estimate, half in known)
        self.unknown += len(samples) - len(known)
        figures = "  ".join(f"{estimate:.4f} {half:.4f}" for *_, estimate, half in samples)
        figures = figures.replace("nan nan", "unknown      ")
        print(f"{trace:14} {self.name:8} {buffers:8.0f}  {truth:.4f}  {exact:.4f}  {figures}", flush=True)

    def summary(self):
        """Prints how far all of them are from libcachesim."""
        for what, values in ("simulated", self.exact), ("by looks", self.estimates):
            mean, high, most = np.mean(values), np.percentile(values, 95), max(values)
            print(
                f"{self.name}, {what}: {len(values)} figures, "
                f"off by {mean:.4f} (mean), {high:.4f} (95 %), {most:.4f} (most)"
            )
        print(f"{self.name}: {sum(self.within)} of {len(self.within)} within their intervals, {self.unknown} unknown")


def main(program, memory, *paths):
    advice = Score("advice")
    scores = {number: Score(name) for number, (name, _) in POLICIES.items()}
    print(f"pool of {POOL} buffers, {memory} bytes for the advice, samples {', '.join(map(str, SALTS))}")
    print("trace          policy    buffers  oracle   exact  by looks, with half of its interval, of each sample")
    for name, pages in [*synthetic(), *recorded([Path(path) for path in paths])]:
        with tempfile.NamedTemporaryFile() as file:
            pages.astype("i4").tofile(file)
            file.flush()
            samples = [replay(program, file.name, salt, memory) for salt in SALTS]
        start = samples[0][0]
        requests = pages.tolist()
        times = next_accesses(requests)
        for rows in zip(*(sizes for _, sizes, _ in samples), strict=True):
            clock = libcachesim.Clock(int(rows[0][0]), n_bit_counter=3, init_freq=1)
            advice.compare(name, oracle(clock, requests, times, start), rows)
        for rows in zip(*(policies for *_, policies in samples), strict=True):
            if rows[0][0] in POLICIES:
                _, cache = POLICIES[rows[0][0]]
                truth = oracle(cache(int(rows[0][1])), requests, times, start)
                scores[rows[0][0]].compare(name, truth, [row[1:] for row in rows])
    for score in advice, *scores.values():
        score.summary()


main(*sys.argv[1:])
