"""Features that are installed when they are first used, and cost nothing until then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from jitney.core.util import forking

_T = TypeVar("_T")


class Features(Generic[_T]):
    """The installed features of one kind, for all threads.

    Attributes:
      installed: the features in order. (A tuple, as another thread may be iterating over it.)
    """

    __slots__ = ("installed",)

    def __init__(self) -> None:
        self.installed: tuple[_T, ...] = ()

    def install(self, feature: _T) -> None:
        """Appends `feature`, unless it is installed."""
        with forking.settings:
            if feature not in self.installed:
                self.installed = (*self.installed, feature)

    def remove(self, feature: _T) -> None:
        """Removes `feature`, if it is installed."""
        with forking.settings:
            self.installed = tuple([each for each in self.installed if each is not feature])


class FirstUse:
    """The first use, in any thread of the process, of a feature that makes other code slower.

    It decouples the code that uses the feature (`note`) from the code that implements it
    (`installs`): for instance, creating a dtype in a low-level module can change how programs are
    lowered. Nothing else reads whether the feature has been used.
    """

    __slots__ = ("_installers", "_is_past")

    def __init__(self) -> None:
        self._is_past = False
        self._installers: tuple[Callable[[], object], ...] = ()

    def note(self, value: object = True) -> None:
        """Installs the feature if `value`, such as that of an option, is true."""
        if value:
            self._is_past = True
            for install in self._installers:
                install()

    def installs(self, install: Callable[[], object]) -> None:
        """Registers `install`, to be called when the feature is used; at once if it has been used.

        `install` may be called more than once.
        """
        self._installers = (*self._installers, install)
        if self._is_past:
            install()
