"""What of a recorded message has to be recognisable in ours.

Our sentences are our own; the facts in them (names, types, shapes, places) and the phrases that
people search for are those of JAX.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Phrases that published documents show, and that people search for.
PHRASES = (
    "Attempted boolean conversion of traced array with shape bool[].",
    "Abstract tracer value encountered where concrete value is expected",
    "Shapes must be 1D sequences of concrete values of integer type",
    "The error occurred while tracing the function",
)

_FACTS = (
    r"\b__\w+__\(\)",  # the method that Python or NumPy called
    r"\b(?:bool|key<\w+>|b?float\d\w*|u?int\d+|complex\d+)\[[\d,]*\]",  # types
    r"(?<![\w.])\(-?\d+(?:, ?-?\d+)*,?\)",  # shapes, positions
    r"\b(?:float|int|uint|complex)\d+(?:_\w+)?\b",  # dtypes
    r"the function \S+ at <script>:N for \w+",
    r"the value of the arguments? \w+",
    r"\.at\[",
    r"\bjnp\.\w+|\blax\.\w+(?= )",
    r"\bjax_\w+",
    r"-?\b\d\d+\b",
)


def normalise(message: str, name: str) -> str:
    """The text without line numbers, addresses, and names of whole test functions."""
    message = re.sub(r"<script>:\d+", "<script>:N", message)
    message = re.sub(r" at \S+\.py:\d+", "", message)
    message = re.sub(r"at 0x[0-9a-f.]+", "at 0x...", message)
    message = re.sub(r"\bexample\.<locals>", f"{name}.<locals>", message)
    message = re.sub(r"https?://\S+|\[\.\.\. \d+ more lines\]|jax\._src\.\w+(\.\w+)*", "", message)
    return re.sub(r"(?:jaxlib\._jax|__main__\.\S*)\.(?=\w)", "", message)


def facts(message: str) -> Iterator[str]:
    """What our message has to tell, too."""
    for phrase in PHRASES:
        if phrase in message:
            yield phrase
    for pattern in _FACTS:
        for found in re.finditer(pattern, message):
            yield found.group(0)
    # Quoted names and values.
    for found in re.finditer(r"'([^'\n]{1,40})'|\"([^\"\n]{1,40})\"|<class '([^']+)'>", message):
        yield (found.group(1) or found.group(2) or found.group(3)).rpartition(".<locals>.")[2]
