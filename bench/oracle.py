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


def oracle(pages, buffers, start):
    """Returns the miss ratio of libcachesim's clock from this access on."""
    cache = libcachesim.Clock(buffers, n_bit_counter=3, init_freq=1)
    request = libcachesim.Request(obj_size=1, op=libcachesim.ReqOp.OP_GET)
    misses = 0
    for i, page in enumerate(pages):
        request.obj_id = page
        misses += not cache.get(request) and i >= start
    return misses / (len(pages) - start)


def replay(program, file, salt, memory):
    """Returns where the window begins; of each size, buffers, exact miss ratio, estimate and half of its interval."""
    command = [program, file, str(POOL), str(memory), "8", str(salt)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return int(lines[0]), [tuple(map(float, line.split())) for line in lines[1:]]


def main(program, memory, *paths):
    errors = {"exact": [], "advice": []}
    within = []
    print(f"pool of {POOL} buffers, {memory} bytes for the advice, samples {', '.join(map(str, SALTS))}")
    print("trace                 buffers  oracle   exact  advice, with half of its interval, of each sample")
    for name, pages in [*synthetic(), *recorded([Path(path) for path in paths])]:
        with tempfile.NamedTemporaryFile() as file:
            pages.astype("i4").tofile(file)
            file.flush()
            samples = [replay(program, file.name, salt, memory) for salt in SALTS]
        requests = pages.tolist()
        for sizes in zip(*(rows for _, rows in samples), strict=True):
            buffers, exact = sizes[0][:2]
            truth = oracle(requests, int(buffers), samples[0][0])
            known = [(estimate, half) for _, _, estimate, half in sizes if not math.isnan(estimate)]
            errors["exact"].append(abs(exact - truth))
            errors["advice"].extend(abs(estimate - truth) for estimate, _ in known)
            within.extend(abs(estimate - truth) <= half for estimate, half in known)
            figures = "  ".join(f"{estimate:.4f} {half:.4f}" for *_, estimate, half in sizes).replace(
                "nan nan", "unknown      "
            )
            print(f"{name:20} {buffers:8.0f}  {truth:.4f}  {exact:.4f}  {figures}", flush=True)
    for what, values in errors.items():
        mean, high, most = np.mean(values), np.percentile(values, 95), max(values)
        print(f"{what}: {len(values)} figures, off by {mean:.4f} (mean), {high:.4f} (95 %), {most:.4f} (most)")
    unknown = len(SALTS) * len(errors["exact"]) - len(within)
    print(f"advice: {sum(within)} of {len(within)} within their intervals, {unknown} unknown")


main(*sys.argv[1:])
