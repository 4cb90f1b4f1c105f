"""Public namespaces whose members are loaded on first access, and their listings.

`import jax.numpy` should not load modules that a program does not use. A namespace is a package
with a stub `__init__.pyi` that imports its public names (for type checkers and readers), and an
`__init__.py` that passes the stub to `attach`.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Collection
from types import FunctionType, ModuleType
from typing import Any

_IMPORT = re.compile(r"^from (jitney[\w.]*) import (\w+) as (\w+)", re.M)
# Type checkers treat a name imported under another one as private; public ones are assigned.
_ALIAS = re.compile(r"^(\w+) = (\w+)$", re.M)


def attach(
    package: str, init_file: str, without: Collection[str] = (), published_by: str | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Returns (`__getattr__`, `__dir__`, `__all__`) for the namespace `package`.

    Args:
      package: its `__name__`.
      init_file: its `__file__`; the stub is next to it.
      without: names in the stub that do not exist with the installed versions of other packages.
      published_by: a module whose function `repeated` wraps the functions of the namespace for
        users.
    """
    with open(init_file.removesuffix("c") + "i", encoding="utf-8") as file:  # not pathlib: 3 ms
        stub = file.read()
    imported = {public: (module, name) for module, name, public in _IMPORT.findall(stub)}
    imported |= {alias: imported[name] for alias, name in _ALIAS.findall(stub)}
    places = {
        name: place
        for name, place in imported.items()
        if not name.startswith("_") and name not in without
    }

    def __getattr__(name: str) -> object:  # called by Python
        place = places.get(name)
        if place is None:
            return _from_elsewhere(package, name)
        module, attribute = place
        # `from package import module` imports the submodule, and waits if another thread is loading
        # it.
        if f"{module}.{attribute}" in sys.modules:
            value = importlib.import_module(f"{module}.{attribute}")
        else:
            owner = importlib.import_module(module) if module != package else None
            if owner is not None and hasattr(owner, attribute):
                value = getattr(owner, attribute)
            else:
                value = importlib.import_module(f"{module}.{attribute}")
        namespace = sys.modules[package]
        known_as = namespace.__name__  # another name, if the program has imported it by that
        if known_as != package and type(value) is ModuleType and attribute == name:
            importlib.import_module(f"{known_as}.{name}")  # and likewise its submodule
        if published_by is not None and type(value) is FunctionType:
            value = importlib.import_module(published_by).repeated(value)
        setattr(namespace, name, value)
        return value

    def is_left_by_loading(name: str, value: object) -> bool:
        submodule = sys.modules.get(f"{package}.{name}")
        return value is attach or (submodule is not None and value is submodule)

    def __dir__() -> list[str]:
        held = vars(sys.modules[package]).items()
        own = (n for n, x in held if not n.startswith("_") and not is_left_by_loading(n, x))
        return sorted({*places, *own, *(n for n, _ in held if n.startswith("__"))})

    return __getattr__, __dir__, list(places)


def refusing(module: str) -> Callable[[str], Any]:
    """Returns a `__getattr__` for a module that does not define all names of JAX's module.

    Names that JAX's module re-exports from other modules are looked up there. For other names the
    AttributeError suggests a replacement.
    """

    def __getattr__(name: str) -> object:  # called by Python
        return _from_elsewhere(module, name)

    return __getattr__


_Finder = Callable[[str, str], Any]
_finders: list[_Finder] = []


def use_reexports(find: _Finder) -> None:
    """Sets the function from (public module of JAX, name) to a re-exported value, or None."""
    _finders[:] = [find]


def _from_elsewhere(module: str, name: str) -> object:
    """Returns the re-exported value `name` of a module; raises AttributeError if there is none."""
    if not name.startswith("__"):
        for find in _finders:
            value = find(module.replace("jitney", "jax", 1), name)
            if value is not None:
                return value
    raise _missing(module, name)


def _missing(module: str, name: str) -> AttributeError:
    from jitney.core.util import absent

    message = absent.missing_attribute(module.replace("jitney", "jax", 1), name)
    # Python suggests similar names when it displays the error.
    return AttributeError(message, name=name, obj=sys.modules.get(module))


def listing(module: str) -> Callable[[], list[str]]:
    """Returns the `__dir__` of a public module, which lists names for users and omits internals.

    These are the names in `__all__`, or else those that the file defines or imports under their own
    name (`from m import f as f`) and that do not begin with an underscore.

    Args:
      module: its `__name__`.
    """

    def __dir__() -> list[str]:
        from jitney.core.util import declared_names  # only needed for completion

        held = vars(sys.modules[module])
        public = held["__all__"] if "__all__" in held else declared_names.declared(held["__file__"])
        return sorted({*public, *(name for name in held if name.startswith("__"))})

    return __dir__
