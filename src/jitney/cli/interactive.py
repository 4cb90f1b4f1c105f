"""`jitney -i`: Python's prompt once a program has ended, with its names, as `python -i` gives it."""

from __future__ import annotations

import code
import contextlib
import sys
from collections.abc import Callable

from jitney.cli.run import hide_own_frames


def after(run_program: Callable[[], int]) -> int:
    """Runs a program, shows the error that ends it, if any, then the prompt; returns an exit code."""
    hide_own_frames()
    try:
        run_program()
    except BaseException as error:
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
        sys.excepthook(type(error), error, error.__traceback__)
    with contextlib.suppress(ImportError):  # lines can be edited where Python has been built so
        import readline as readline
        import rlcompleter as rlcompleter
    code.interact(banner="", local=vars(sys.modules["__main__"]), exitmsg="")
    return 0
