"""Plugin of pytest: failures of tests are shown without the frames of jitney.

It stands outside of the package, which tests that do not use jitney should not load.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(call: pytest.CallInfo[Any]) -> None:
    """Marks frames of jitney, so that pytest leaves them out unless it is called with --full-trace."""
    tracebacks = sys.modules.get("jitney.core.diagnostics.tracebacks")
    if call.excinfo is not None and tracebacks is not None:
        tracebacks.mark(call.excinfo.value)
