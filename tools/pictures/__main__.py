"""`python -m tools.pictures [NAME ...]`: draws the pictures into docs/images; `--check` compares them.

With `--check` nothing is written: the status is 1 if a picture differs from its file or has texts that
overlap, and a line says which.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

from tools.pictures.sheet import Sheet

IMAGES = Path(__file__).parents[2] / "docs" / "images"
PICTURES = (
    "stages",
    "compositions",
    "fusion",
    "buffers",
    "shards",
    "partition",
    "loops",
    "disk",
    "calls",
)


def main() -> int:
    """Draws or compares the pictures that are named, by default all."""
    parser = argparse.ArgumentParser(prog="python -m tools.pictures", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    parser.add_argument("--check", action="store_true", help="compare with the files")
    options = parser.parse_args()
    unknown = {*options.names} - {*PICTURES}
    if unknown:
        parser.error(f"there is no picture {', '.join(sorted(unknown))}")
    # Pictures of shards need devices; their number is fixed when the first array is created.
    os.environ["JAX_NUM_CPU_DEVICES"] = "4"
    faults: list[str] = []
    for name in options.names or PICTURES:
        sheet: Sheet = importlib.import_module(f"tools.pictures.{name}").draw()
        faults += [f"{name}: {fault}" for fault in sheet.faults()]
        file = IMAGES / f"{name}.svg"
        if not options.check:
            file.write_text(sheet.svg(), encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != sheet.svg():
            faults.append(
                f"{name}: differs from {file.name}; `python -m tools.pictures` draws it anew"
            )
    if faults:
        print(*faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
