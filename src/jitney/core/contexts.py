"""Context managers that no signal can interrupt halfway through entry or exit.

`_contexts.pyx` explains why they are needed and how they work. All code that changes state
temporarily (settings, the current trace, named axes, scopes, meshes) uses them, never a generator
or an `__exit__` written in Python.

`docs/interrupts.md` has a table of all foreign resources that the package owns, and of the code
that releases them.
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
