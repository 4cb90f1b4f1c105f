"""Tokens come after tokens only, within programs and outside."""

import pytest

import jitney
from jitney.core.program import typecheck
from jitney.primitives.array.tokens import after_all, create_token


def test_tokens_come_after_tokens():
    first = create_token()
    assert type(after_all(first, create_token())) is type(first)
    assert type(after_all()) is type(first)
    with pytest.raises(TypeError, match="all arguments must be tokens"):
        after_all(first, 1.0)


def test_tokens_within_programs():
    def chained(x):
        return after_all(create_token(), create_token(x)), x + 1

    closed = jitney.make_jaxpr(chained)(1.0)
    assert str(closed).count("create_token") == 2
    typecheck.check_jaxpr(closed.jaxpr)
    token, y = jitney.jit(chained)(1.0)
    assert type(token) is type(create_token())
    assert y == 2
    with pytest.raises(TypeError, match="all arguments must be tokens"):
        jitney.make_jaxpr(lambda x: after_all(x))(1.0)
