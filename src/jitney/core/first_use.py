"""Features that are installed when they are first used: until then, nothing asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from jitney.core import forking

_T = TypeVar("_T")


class Features(Generic[_T]):
    """Features of one kind that all threads have: what goes through `installed` asks for nothing else.

    Attributes:
      installed: the features in order. (A tuple, as another thread may be going through it.)
    """

    __slots__ = ("installed",)

    def __init__(self) -> None:
        self.installed: tuple[_T, ...] = ()

    def install(self, feature: _T) -> None:
        """Adds `feature` after the others; once, however often it is called."""
        with forking.settings:
            if feature not in self.installed:
                self.installed = (*self.installed, feature)

    def remove(self, feature: _T) -> None:
        """Takes `feature` out, if it is installed."""
        with forking.settings:
            self.installed = tuple([each for each in self.installed if each is not feature])


class FirstUse:
    """When a feature that slows others down is used for the first time in a process, in any thread.

    What uses it (`note`) and what it needs (`installs`) do not know each other: a dtype that is made
    low down has programs lowered in another way. Nothing else reads whether the feature has been used.
    """

    __slots__ = ("_installers", "_is_past")

    def __init__(self) -> None:
        self._is_past = False
        self._installers: tuple[Callable[[], object], ...] = ()

    def note(self, value: object = True) -> None:
        """Has the feature installed if `value` is true: that of an option, say."""
        if value:
            self._is_past = True
            for install in self._installers:
                install()

    def installs(self, install: Callable[[], object]) -> None:
        """Has `install` called when the feature is used, now if it was; it may be called again."""
        self._installers = (*self._installers, install)
        if self._is_past:
            install()
