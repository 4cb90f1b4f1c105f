"""Only one kind of inlining takes effect while tracing."""

import pytest

from jitney.api.jit.inlining import Inline, at_tracing


@pytest.mark.parametrize("inline", [True, False, *Inline])
def test_inlining_at_tracing(inline):
    assert at_tracing(inline) is (inline is Inline.JAX_EARLY)


@pytest.mark.parametrize("inline", ["jax_early", 1, None])
def test_other_values_are_refused(inline):
    with pytest.raises(ValueError, match=r"inline must be a bool or a jax\.Inline, but is"):
        at_tracing(inline)
