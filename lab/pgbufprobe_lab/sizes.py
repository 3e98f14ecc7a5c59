"""Sizes in bytes: parsed, formatted, and scaled to a machine."""

import re

KB = 1024
MB = 1024 * KB
GB = 1024 * MB
BLOCK = 8192

_UNITS = {"": 1, "b": 1, "k": KB, "kb": KB, "m": MB, "mb": MB, "g": GB, "gb": GB, "t": 1024 * GB, "tb": 1024 * GB}


def parse_bytes(text: str) -> int:
    """Returns the bytes of a size such as '1.5GB'. Raises ValueError if it is not one."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", text)
    if not match or match[2].lower() not in _UNITS:
        raise ValueError(f'"{text}" is not a size; examples are 512MB and 1.5GB')
    return int(float(match[1]) * _UNITS[match[2].lower()])


def format_bytes(count: float) -> str:
    for size, unit in ((GB, "GB"), (MB, "MB"), (KB, "kB")):
        if count >= size:
            number = f"{count / size:.1f}".removesuffix(".0")
            return f"{number} {unit}"
    return f"{count:.0f} bytes"


def whole_blocks(count: float) -> int:
    """Rounds down to a possible value of shared_buffers."""
    return max(int(count) // BLOCK, 16) * BLOCK


def pool_sizes(memory: int) -> dict[str, int]:
    """Returns the three pool sizes of write-up A."""
    return {name: whole_blocks(memory * share) for name, share in (("small", 0.25), ("middle", 0.5), ("large", 0.75))}
