"""Inventories of other sites: lists of the names that they document, for links to them.

A build fetches each inventory once and keeps it in docs/_build/inventories. Without network it makes no
links to sites whose inventories it does not have, and reports nothing.
"""

from __future__ import annotations

import urllib.request
import zlib
from collections.abc import Mapping
from pathlib import Path

# Sites, with what their addresses begin with.
SITES = {
    "python": "https://docs.python.org/3/",
    "numpy": "https://numpy.org/doc/stable/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
    "jax": "https://docs.jax.dev/en/latest/",
}
SECONDS = 5  # to wait for a site
MAGIC = b"# Sphinx inventory version 2\n"


def fetch(address: str, file: Path, seconds: float = SECONDS) -> bool:
    """Fetches the inventory at `address` to `file` unless it exists; returns whether it exists."""
    if file.exists():
        return True
    try:
        with urllib.request.urlopen(address, timeout=seconds) as answer:
            content = answer.read()
    except (OSError, ValueError):
        return False
    if not content.startswith(MAGIC):
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return True


def reachable(folder: Path, sites: Mapping[str, str] = SITES) -> dict[str, tuple[str, str]]:
    """Returns the sites whose inventories are in `folder` or can be fetched: {name: (site, file)}."""
    files = {name: folder / f"{name}.inv" for name in sites}
    return {
        name: (site, str(files[name]))
        for name, site in sites.items()
        if fetch(f"{site}objects.inv", files[name])
    }


def addresses(site: str, file: Path) -> dict[str, str]:
    """Returns the address of each Python name that an inventory lists."""
    content = file.read_bytes()
    for _ in range(4):  # four lines of text, then compressed lines
        content = content.partition(b"\n")[2]
    found: dict[str, str] = {}
    for line in zlib.decompress(content).decode().splitlines():
        name, kind, _, page, *_ = line.split(" ")
        if kind.startswith("py:"):
            found[name] = site + (page[:-1] + name if page.endswith("$") else page)
    return found
