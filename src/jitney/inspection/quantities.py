"""Formatting of quantities with three significant digits."""

from __future__ import annotations


def seconds(t: float) -> str:
    """Formats seconds: `1.5 us`, `24 ms`, `3.2 s`."""
    scales = (("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9))
    fitting = ((unit, scale) for unit, scale in scales if t * scale >= 0.9995)
    unit, scale = next(fitting, scales[-1])
    return f"{t * scale:.3g} {unit}"


def flops(n: float) -> str:
    """Formats a number of operations: `120 Mflop`."""
    return f"{_scaled(n)}flop"


def bytes_rate(n: float) -> str:
    """Formats bytes per second: `12.5 GB/s`."""
    return f"{_scaled(n)}B/s"


def flops_rate(n: float) -> str:
    """Formats operations per second: `12.5 Gflop/s`."""
    return f"{_scaled(n)}flop/s"


def _scaled(n: float) -> str:
    """Formats a number with three significant digits and a unit prefix: `12.5 G`."""
    prefixes = ["", "k", "M", "G", "T", "P", "E", "Z"]
    while n >= 999.5 and len(prefixes) > 1:
        n /= 1000
        prefixes.pop(0)
    return f"{n:.3g} {prefixes[0]}"


def share(part: float) -> str:
    """Formats a fraction in percent: `12 %`."""
    return f"{100 * part:.0f} %"
