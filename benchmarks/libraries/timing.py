"""What each program calls at its end: `report(call)`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np


def report(call: Callable[[], Any], samples: int = 9, least: float = 0.02) -> None:
    """Prints a line of JSON: seconds from the start of the process to the first result of `call`,
    seconds of later calls, and a number of the result to compare.

    Args:
      call: does all that is timed, and gives arrays.
      samples: how many are taken.
      least: seconds that a sample takes at least, of as many calls as it needs.
    """
    first = jax.block_until_ready(call())
    since_start = time.time() - float(os.environ.get("PROCESS_STARTED", "nan"))
    count, taken = 1, 0.0
    while True:
        start = time.perf_counter()
        for _ in range(count):
            jax.block_until_ready(call())
        taken = time.perf_counter() - start
        if taken >= least or samples == 0:
            break
        count *= 2
    later = [taken / count]
    for _ in range(samples - 1):
        start = time.perf_counter()
        for _ in range(count):
            jax.block_until_ready(call())
        later.append((time.perf_counter() - start) / count)
    leaves = [np.asarray(x, np.float64).ravel() for x in jax.tree.leaves(first)]
    total = float(np.concatenate(leaves).mean())
    print(json.dumps({"first": since_start, "later": later, "value": total}))
