"""NumPy's warnings are silenced within a context only."""

import numpy as np
import pytest

from jitney.core.util import float_errors


def overflow():
    return np.float32(3e38) * np.float32(10)


def test_warnings_are_silenced_within_the_context():
    before = np.geterr()
    with float_errors.ignored():
        assert np.isinf(overflow())
        assert np.isnan(np.float32(0) / np.float32(0))
        with float_errors.ignored():
            pass
        assert set(np.geterr().values()) == {"ignore"}
    assert np.geterr() == before
    with pytest.warns(RuntimeWarning, match="overflow"):
        overflow()


def test_errors_restore_the_warnings():
    before = np.geterr()
    with pytest.raises(KeyError), float_errors.ignored():
        raise KeyError
    assert np.geterr() == before


def test_users_settings_are_restored():
    with np.errstate(over="raise"):
        with float_errors.ignored():
            assert np.isinf(overflow())
        with pytest.raises(FloatingPointError, match="overflow"):
            overflow()


def test_the_fallback_sets_and_gets_the_same():
    plain = float_errors._ByErrstate()
    with np.errstate():
        plain.set(None)
        assert plain.get() == dict.fromkeys(np.geterr(), "ignore")
        plain.set({**plain.get(), "divide": "raise"})
        assert plain.get()["divide"] == "raise"
