"""Options are set by the flags of a command line that name them."""

import types

from jitney.core.settings.absl_flags import apply_flags


def test_only_flags_that_are_given_set_options():
    def flag(present, value):
        return types.SimpleNamespace(present=present, value=value)

    flags = types.SimpleNamespace(
        FLAGS={
            "a": flag(True, 5),
            "b": flag(False, 6),
            "c": flag(True, None),
            "other": flag(True, 7),
        }
    )
    updates = []
    apply_flags(flags, {"a": 1, "b": 2, "c": 3}, lambda *pair: updates.append(pair))
    assert updates == [("a", 5), ("c", None)]
