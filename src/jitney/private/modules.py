"""The modules of `jax._src`, whose names are looked up in the tables when they are first used.

    from jax._src.numpy.reductions import sum    # is jax.numpy.sum
    from jax._src import core                    # modules are attributes without being imported

A module's name is looked up in `places.PLACES`, which is maintained by hand, and then in
`names.txt`, which is generated from JAX.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

from jitney.private.places import PLACES, SAME

ROOT = "jitney._src"
_TABLE = Path(__file__).with_name("names.txt")


@functools.cache
def _paragraphs() -> dict[str, str]:
    """Returns a dict from modules, named without "jax._src.", to their lines of the table."""
    _, *paragraphs = ("\n" + _TABLE.read_text(encoding="utf-8")).split("\n[")
    return {name: lines for name, _, lines in (x.partition("]\n") for x in paragraphs)}


@functools.cache
def _packages() -> frozenset[str]:
    """Returns the modules that contain other modules."""
    listed = (*_paragraphs(), *PLACES, *SAME)
    return frozenset(
        name[:end] for name in listed for end, letter in enumerate(name) if letter == "."
    )


@functools.cache
def _modules() -> frozenset[str]:
    """Returns all private modules that can be imported."""
    return frozenset((*_paragraphs(), *PLACES, *SAME, *_packages()))


@functools.cache
def places(module: str) -> dict[str, str]:
    """Returns the locations of all names of a private module.

    Args:
      module: name without "jax._src.", such as "numpy.util".

    Returns:
      A dict from names to locations "module:name" or "module", where the module is one of jitney's.
    """
    lines = _paragraphs().get(module, "").splitlines()
    read_off = {where: words for where, _, words in [line.partition(": ") for line in lines]}
    return as_places(read_off) | as_places(PLACES.get(module, {}))


def as_places(rows: dict[str, str]) -> dict[str, str]:
    """Expands rows of `places.py` to a dict from names to locations.

    A location is "module:name" or "module".
    """
    found: dict[str, str] = {}
    for where, words in rows.items():
        for word in words.replace("*", "").split():
            name, _, original = word.partition("=")
            if where == "modules":
                found[name] = _module(original or f".{name}")
            else:
                found[name] = f"{_module(where)}:{original or name}"
    return found


def _module(where: str) -> str:
    """Returns the full name of a module of this package from its name in the tables."""
    if where.startswith("."):
        return ROOT + where
    return "jitney" + where.removeprefix("jax") if where.split(".")[0] == "jax" else where


def find(module: str, name: str) -> object:
    """Returns the object with name `name` in the private module `module`.

    Args:
      module: name without "jax._src."; empty for the package `jax._src` itself.

    Raises:
      AttributeError: if neither table contains the name, or jitney does not have the object.
    """
    place = places(module).get(name)
    if place is not None:
        owner, _, attribute = place.partition(":")
        return part_of(owner, attribute) if attribute else _load(owner)
    inner = f"{module}.{name}".lstrip(".")
    if inner in _modules():
        return _load(f"{ROOT}.{inner}")
    for where, words in PLACES.get(module, {}).items():
        if words == "*":
            return getattr(importlib.import_module(where), name)
    where = ".".join(filter(None, ("jax._src", module)))
    raise AttributeError(
        f"module {where!r} has no attribute {name!r} in jitney, which provides only those private "
        "names of JAX that are public elsewhere, or that packages are known to use",
        name=name,
    )


def part_of(owner: str, name: str) -> object:
    """Returns an attribute or a submodule of a module."""
    loaded = importlib.import_module(owner)
    if hasattr(loaded, name) or not hasattr(loaded, "__path__"):
        return getattr(loaded, name)
    return importlib.import_module(f"{owner}.{name}")


def _load(module: str) -> ModuleType:
    """Imports a module; a private module of `jax` if this package was imported by that name."""
    return importlib.import_module(module.replace(ROOT, sys.modules[ROOT].__name__, 1))


def namespace(module: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Returns (`__getattr__`, `__dir__`) of the private module with full name `module`."""
    short = module.removeprefix(ROOT).lstrip(".")

    def __getattr__(name: str) -> object:  # called by Python
        if name.startswith("__") and name not in places(short):
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        value = find(short, name)
        setattr(sys.modules[module], name, value)
        return value

    def __dir__() -> list[str]:
        start = f"{short}." if short else ""
        inner = {
            name.removeprefix(start).split(".")[0] for name in _modules() if name.startswith(start)
        }
        return sorted({*places(short), *inner, *vars(sys.modules[module])})

    return __getattr__, __dir__


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A finder and loader of the private modules in the tables."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Returns the spec of a module below `jitney._src`; None for other names."""
        short = fullname.removeprefix(f"{ROOT}.")
        if short == fullname or short not in _modules():
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=short in _packages())

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """Returns the module of jitney that replaces a private one; None for a new module."""
        same = SAME.get(spec.name.removeprefix(f"{ROOT}."))
        if same is None:
            return None
        own = importlib.import_module(same)
        spec.loader_state = own.__spec__
        return own

    def exec_module(self, module: ModuleType) -> None:
        """Adds the module's names."""
        assert module.__spec__ is not None
        if module.__spec__.loader_state is not None:
            module.__spec__ = module.__spec__.loader_state
            return
        name = module.__name__
        module.__doc__ = f"The names of {name.replace('jitney', 'jax', 1)} that jitney provides."
        vars(module)["__getattr__"], vars(module)["__dir__"] = namespace(name)


def install_finder() -> None:
    """Installs the finder, so that `import jitney._src.X` finds the modules of the tables."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
