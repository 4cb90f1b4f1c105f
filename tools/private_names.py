"""Reads off real JAX where its public objects live in its private tree, and writes that down.

    python tools/private_names.py [--check] [PYTHON ...]

Programs import from `jax._src`: `from jax._src.numpy.reductions import sum`. Real JAX can say that
this is `jax.numpy.sum`, so jitney needs no module for it: `src/jitney/private/names.txt` says for
each private module which of its names are public somewhere, or are names of another private
module. Only names that jitney has in public are listed, and private modules, which hold each
other.

Args:
  PYTHON: interpreters that have real JAX, oldest release first; this one, if none is named. Where two
    releases differ, the later one is followed.
  --check: compare with the table, and write nothing.
"""

from __future__ import annotations
import __future__

import argparse
import importlib
import json
import pkgutil
import re
import subprocess
import sys
import types
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "src/jitney/private/names.txt"
HEAD = """\
# Names in JAX's private modules that are public somewhere, or names of other private modules:
# written by tools/private_names.py from real JAX. A line "place: a b=c" says that `a` is the
# place's `a`, and `b` its `c`; a place that begins with a dot is a private module. A line
# "modules: a b=.c" names modules.
"""

# What has no counterpart on CPUs, or is made for JAX's own tests.
LEFT_OUT = ("pallas", "cudnn", "tpu_custom_call", "internal_test_util", "lib", "tpu", "mosaic")
# Where a public object is looked for first; the others follow in the order of their names.
FIRST = ("jax", "jax.numpy", "jax.lax", "jax.nn", "jax.random", "jax.tree_util", "jax.extend.core")
# Values that Python shares between unrelated names: those of one name are taken for the same.
SHARED = (
    int, float, complex, str, bytes, bool, tuple, dict, list, set, frozenset, type(None),
    type(__future__.annotations),
)  # fmt: skip

LOOP_VARIABLE = re.compile("_?[a-z]")  # at the top of a module, left over

Names = dict[str, dict[str, str]]
Places = dict[int, list[str]]  # by the identity of the object


def _modules() -> dict[str, types.ModuleType]:
    """All modules of real JAX that can be imported here."""
    root = importlib.import_module("jax")
    found = {"jax": root}

    def pass_over(name: str) -> None:
        """Leaves out a package that needs something which is not installed."""

    for info in pkgutil.walk_packages(root.__path__, "jax.", pass_over):
        try:
            found[info.name] = importlib.import_module(info.name)
        except Exception:
            continue
    return found


def _is_private(name: str) -> bool:
    return any(part.startswith("_") for part in name.split("."))


def published() -> dict[str, list[str]]:
    """The names in each public module of jitney, by the name that the module has in JAX."""
    from jitney.install import INTERNAL

    own = importlib.import_module("jitney")
    names = ["jitney", *(info.name for info in pkgutil.walk_packages(own.__path__, "jitney."))]
    return {
        name.replace("jitney", "jax", 1): dir(importlib.import_module(name))
        for name in names
        if not _is_private(name) and INTERNAL.isdisjoint(name.split(".")[1:2])
    }


def _public_objects(
    modules: dict[str, types.ModuleType], of_jitney: dict[str, list[str]]
) -> Places:
    """The places, "module:name", of each object of JAX that both packages have in public."""
    public = [name for name in modules if name in of_jitney]
    public.sort(key=lambda x: (FIRST.index(x) if x in FIRST else len(FIRST), x.count("."), x))
    places: Places = defaultdict(list)
    for module in public:
        for name in of_jitney[module]:
            value = getattr(modules[module], name, None)
            if value is Any or value is None or isinstance(value, types.ModuleType):
                continue
            if isinstance(value, type(__future__.annotations)):  # every module has it
                continue
            places[id(value)].append(f"{module}:{name}")
    return places


def read_off(of_jitney: dict[str, list[str]]) -> Names:
    """Private module (without "jax._src.") -> name -> place, of the JAX in this process.

    A place is "module:name" of a public module or of a private one, or a module's name.

    Args:
      of_jitney: what `published` returns.
    """
    warnings.simplefilter("ignore")
    modules = _modules()
    public = _public_objects(modules, of_jitney)
    prefix = "jax._src."
    names: Names = {}
    for module, loaded in modules.items():
        short = module.removeprefix(prefix)
        if not module.startswith(prefix) or short.split(".")[0] in LEFT_OUT:
            continue
        rows = {
            name: place
            for name, value in vars(loaded).items()
            if not name.startswith("__")
            and not LOOP_VARIABLE.fullmatch(name)
            and (place := _place(name, value, module, public, of_jitney)) is not None
        }
        names[short] = rows
    return names


def _place(
    name: str, value: Any, module: str, public: Places, of_jitney: dict[str, list[str]]
) -> str | None:
    if isinstance(value, types.ModuleType):
        full = value.__name__
        short = full.removeprefix("jax._src.")
        is_ours = full != short and short.split(".")[0] not in LEFT_OUT
        return full if is_ours or full in of_jitney else None
    places = public.get(id(value), [])
    same = [place for place in places if place.endswith(f":{name}")]
    if same:
        return same[0]
    if isinstance(value, SHARED) or value is Any:
        return None
    if places:
        return places[0]
    home, original = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not isinstance(home, str) or not isinstance(original, str) or home == module:
        return None
    is_private = home.startswith("jax._src.") and home.split(".")[2] not in LEFT_OUT
    is_there = getattr(sys.modules.get(home), original, None) is value
    return f"{home}:{original}" if is_private and is_there else None


def as_text(names: Names) -> str:
    """The table: a paragraph for each private module, a line for each place."""
    lines = [HEAD]
    for module in sorted(names):
        by_place: dict[str, list[str]] = defaultdict(list)
        for name, place in sorted(names[module].items()):
            where, _, original = place.replace("jax._src.", ".").partition(":")
            if not original:
                by_place["modules"].append(name if where == f".{name}" else f"{name}={where}")
            else:
                by_place[where].append(name if name == original else f"{name}={original}")
        lines.append(f"[{module}]")
        lines += [f"{place}: {' '.join(words)}" for place, words in sorted(by_place.items())]
        lines.append("")
    return "\n".join(lines)


def _merged(pythons: list[str]) -> Names:
    names: Names = {}
    ours = json.dumps(published())
    for python in pythons:
        command = [python, __file__, "--as-json"]
        answer = subprocess.run(command, input=ours, capture_output=True, text=True, check=True)
        for module, rows in json.loads(answer.stdout.splitlines()[-1]).items():
            names.setdefault(module, {}).update(rows)
    return names


def main() -> int:
    """Runs the command; returns 1 if the table is not what was read off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pythons", nargs="*", default=[sys.executable])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--as-json", action="store_true", help="what this very JAX has, as JSON")
    options = parser.parse_args()
    if options.as_json:
        print(json.dumps(read_off(json.load(sys.stdin))))
        return 0
    text = as_text(_merged(options.pythons))
    if options.check:
        return int(TABLE.read_text() != text)
    TABLE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
