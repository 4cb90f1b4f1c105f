"""Reasons for which tests may be skipped in a whole run, `--strict-skips`: with all that tests can use.

What is missing elsewhere, such as a library, is not among them: a test that nothing runs would say so
nowhere.
"""

from __future__ import annotations

import re

# Patterns that reasons begin with.
ALLOWED = (
    # the machine
    r"this processor ",
    r"no OpenBLAS of wheels here",
    r"no MKL here",
    r"a browser draws the page",
    r".*for root, with the right to mount disks",
    r"an option of MPICH's",
    # combinations of parameters without a meaning
    r"raises$",
    r"needs known values: ",
    r"a pytree's leaves are what these see",
    r"no special values of its own",
    r"not an update of booleans",
    r"has no such dtype",
    r"has not been measured",
    # Python 3.11 brings it: the compatibility run has these tests
    r"could not import 'setuptools'",
    # runs of their own (`tools/run.py libraries`, `packages`, `docs`)
    r"not installed: ",
    r"\w+ is not installed$",
)


def is_allowed(reason: str) -> bool:
    """Whether a test may be skipped for `reason` where nothing is missing."""
    return any([re.match(pattern, reason) for pattern in ALLOWED])
