"""Contexts that no signal can leave half entered or half left; `_contexts.pyx` says why and how.

Whatever puts state in force for a while uses them, and never a generator or an `__exit__` in Python:
settings, the current trace, named axes, scopes, meshes.

`docs/architecture.md` has a table of everything foreign that the package owns, and what releases it.
"""

from __future__ import annotations

from jitney.core._contexts import (
    Between as Between,
    Owned as Owned,
    Setting as Setting,
    Within as Within,
    enter as enter,
    entered as entered,
    leave as leave,
)
