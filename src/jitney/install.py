"""Redirects `import jax` to this package.

After `install_as_jax()`, `jax.numpy` is the module `jitney.numpy` itself under a second name, and
likewise for each public module, so that no module exists twice. Only `jax` is a separate object: it
has the version number of JAX, and looks up everything else in `jitney`.

Processes that `multiprocessing` spawns import the program again, in a fresh interpreter, which must
have the same finder by then. These processes receive the `sys.path` of the parent process first;
therefore an entry of it installs the finder (`_Entry`). Other subprocesses are not affected: in
them, `import jax` imports JAX.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from jitney import version
from jitney.core.diagnostics import tracebacks
from jitney.core.util import absent

if TYPE_CHECKING:
    from importlib.metadata import Distribution, DistributionFinder

# Internal packages, which have no counterpart in JAX.
INTERNAL = frozenset(
    "__main__ api cli compiler inspection install primitives private runtime transforms wiring".split()
)

_ROOTS = {"jax": "jitney", "jaxlib": "jitney._src.lib"}
_ABSENT = object()


def _own_name(fullname: str) -> str:
    """Converts `jax.x` to `jitney.x`, and `jaxlib.x` to `jitney._src.lib.x`."""
    root, dot, tail = fullname.partition(".")
    return f"{_ROOTS[root]}{dot}{tail}"


def _as_jax(package: ModuleType) -> ModuleType:
    """Returns the module `jax`, which has the names of `package`.

    It is a plain module that caches the names that it has looked up, so that `jax.Array` is as fast
    as a global; libraries look up such names for each node of a pytree.
    """
    jax = ModuleType("jax", package.__doc__)

    def __getattr__(name: str) -> object:  # the name that Python calls
        value = getattr(package, name, _ABSENT)
        if name == "_src":  # private, but libraries access it as an attribute
            return importlib.import_module("jax._src")
        if value is _ABSENT or name in INTERNAL:
            raise AttributeError(absent.missing_attribute("jax", name), name=name, obj=jax)
        if isinstance(value, ModuleType) and value.__name__ == _own_name(f"jax.{name}"):
            return importlib.import_module(f"jax.{name}")  # so that programs find it in sys.modules
        if name in public:
            setattr(jax, name, value)
        return value

    def __dir__() -> list[str]:
        return sorted({*vars(jax), *dir(package)} - INTERNAL)

    public = frozenset(getattr(package, "__all__", ()))
    vars(jax).update(
        __file__=getattr(package, "__file__", None),
        __version__=version.__version__,
        __version_info__=version.__version_info__,
        __getattr__=__getattr__,
        __dir__=__dir__,
    )
    return jax


class _Loader(importlib.abc.Loader):
    """A loader of modules of this package that gives them the names of JAX's modules.

    Libraries that support several array packages identify a namespace by its `__name__`.
    """

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        if spec.name != "jax":
            return self._module
        tracebacks.install_in_ipython()  # the ipython command starts it after loading the package
        return _as_jax(self._module)

    def exec_module(self, module: ModuleType) -> None:
        if module is not self._module:
            return
        assert module.__spec__ is not None
        name = module.__spec__.name
        # The import system has assigned the spec of the second name to the module.
        module.__spec__ = self._spec
        module.__name__ = name
        # Submodules are looked up under the new name from here on (`core.util.lazy`).
        for public in getattr(module, "__all__", ()):
            part = vars(module).get(public)
            if isinstance(part, ModuleType) and part.__name__ == _own_name(f"{name}.{public}"):
                importlib.import_module(f"{name}.{public}")


class JaxFinder(importlib.abc.MetaPathFinder):
    """A finder of `jax`, `jaxlib` and their submodules in this package."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Returns the spec for names in `jax` and `jaxlib`, and None for other names.

        Raises:
          ModuleNotFoundError: if this package has no such module. Other finders must not be
            consulted, because they would search the folder of this package and load a second copy.
        """
        parts = fullname.split(".")
        if parts[0] not in _ROOTS:
            return None
        own_name = _own_name(fullname)
        if parts[1:2] and parts[1] in INTERNAL:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        try:  # it will be imported next, so this saves a second search
            module = importlib.import_module(own_name)
        except ModuleNotFoundError as error:
            if error.name != own_name:
                raise
            why = absent.why_absent(fullname) or f"No module named {fullname!r}"
            raise ModuleNotFoundError(why, name=fullname) from None
        search = getattr(module, "__path__", None)
        loader = _Loader(module)
        spec = importlib.machinery.ModuleSpec(fullname, loader, is_package=search is not None)
        if search is not None:
            spec.submodule_search_locations = list(search)
        return spec

    def find_distributions(self, context: DistributionFinder.Context) -> Iterator[Distribution]:
        """Returns the metadata of `jax` and `jaxlib` for `importlib.metadata`."""
        from jitney.private import distributions

        return distributions.find(context)


class _Entry(str):
    """An entry of `sys.path` that redirects `import jax` in spawned processes."""

    __slots__ = ()

    def __reduce__(self) -> str | tuple[object, ...]:
        if "multiprocessing" not in sys.modules or not _is_spawning():
            return str, (str(self),)
        _prepare_forkserver()
        return _arrive, (str(self),)


def _is_spawning() -> bool:
    """Returns whether this thread is pickling the state of a new process."""
    from multiprocessing.context import get_spawning_popen

    return get_spawning_popen() is not None


def _prepare_forkserver() -> None:
    """Redirects `import jax` in a fork server before it loads the modules of the program.

    Newer Python versions load the main module of the program in the fork server first; here, the
    workers do so instead.
    """
    server: Any = sys.modules.get("multiprocessing.forkserver")
    modules = getattr(getattr(server, "_forkserver", None), "_preload_modules", None)
    if isinstance(modules, list):
        others = [name for name in modules if name not in ("__main__", _PRELOADED)]
        server.set_forkserver_preload([_PRELOADED, *others])


_PRELOADED = "jitney.cli.preloaded"


def _arrive(entry: str) -> _Entry:
    """Redirects `import jax` in a spawned process; returns the entry for its `sys.path`."""
    install_as_jax()
    return _Entry(entry)


def is_installed() -> bool:
    """Returns whether `import jax` imports this package."""
    return any(isinstance(finder, JaxFinder) for finder in sys.meta_path)


def install_as_jax() -> None:
    """Redirects `import jax`, and all imports from it, to this package.

    Call this function before jax is imported, or run a program as `python -m jitney program.py`. It
    affects this process, processes that it forks, and processes that `multiprocessing` or joblib
    spawn for it.

    Raises:
      RuntimeError: if another jax has already been imported.
    """
    if is_installed():
        return
    if "jax" in sys.modules:
        raise RuntimeError(
            "install_as_jax: another jax has already been imported, from "
            f"{getattr(sys.modules['jax'], '__file__', None)}; call install_as_jax() before that"
        )
    sys.meta_path.insert(0, JaxFinder())
    sys.path[:] = [_Entry(entry) if type(entry) is str else entry for entry in sys.path]
