"""`jitney -i`: opens Python's prompt with a program's names after it ended, like `python -i`."""

from __future__ import annotations

import code
import contextlib
import sys
from collections.abc import Callable

from jitney.cli.run import hide_own_frames


def after(run_program: Callable[[], int]) -> int:
    """Runs a program, then opens the prompt; returns an exit code.

    An error that ends the program is shown before the prompt.
    """
    hide_own_frames()
    try:
        run_program()
    except BaseException as error:
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
        sys.excepthook(type(error), error, error.__traceback__)
    with contextlib.suppress(ImportError):  # line editing, if Python was built with it
        import readline as readline
        import rlcompleter as rlcompleter
    code.interact(banner="", local=vars(sys.modules["__main__"]), exitmsg="")
    return 0
