"""The features that observe or change how operations and programs are evaluated.

Each is a module of this folder: a trace over the evaluating one
(`core.tracing.trace.intercept_evaluation`), interceptors of calls (`call_interceptors`) and of new
arrays (`array_interceptors`), and the functions that they call. A feature is installed when it is
first used. No other module imports one, so that a feature can be deleted with its lines here; a test
does this. Primitives whose implementation is defined by the user (`def_impl`) are not intercepted,
but the operations that they call are.
"""

from __future__ import annotations

from jitney.runtime.features import (
    context_mesh,
    key_reuse,
    transfer_guard,
    value_checks,
)

FEATURES = (
    context_mesh,
    key_reuse,
    transfer_guard,
    value_checks,
)


def install() -> None:
    """Registers all features."""
    for feature in FEATURES:
        feature.install()
