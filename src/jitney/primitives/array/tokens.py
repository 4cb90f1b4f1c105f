"""Tokens: values without data that express dependencies between operations.

    b:Tok = create_token
    c:Tok = after_all a b

In this implementation, ordered effects occur in program order in any case, so no operation waits
for a token. At run time, a token is a `Token`; within compiled programs, it is an array without
elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.recording.compat import Token
from jitney.core.tracing.primitive import declare
from jitney.core.types.avals import AbstractValue, abstract_token

if TYPE_CHECKING:
    from jitney.primitives.rule_types import Builder, Node

create_token_p = declare("create_token")
after_all_p = declare("after_all")


@create_token_p.abstract
def _create_token_abstract() -> AbstractValue:
    return abstract_token


@after_all_p.abstract
def _after_all_abstract(*avals: AbstractValue) -> AbstractValue:
    if any(aval is not abstract_token for aval in avals):
        raise TypeError(f"after_all: all arguments must be tokens, got {list(avals)}")
    return abstract_token


@create_token_p.def_impl
def _create_token_def_impl() -> Token:
    return Token()


@after_all_p.def_impl
def _after_all_def_impl(*tokens: object) -> Token:
    if not all(isinstance(token, Token) for token in tokens):
        raise TypeError(f"after_all: all arguments must be tokens, got {list(tokens)}")
    return Token()


@create_token_p.lower
def _create_token_lower(b: Builder) -> Node:
    return b.constant(np.zeros(0, np.bool_))


@after_all_p.lower
def _after_all_lower(b: Builder, *tokens: Node) -> Node:
    return b.constant(np.zeros(0, np.bool_))


create_token_p.absent("jvp", "transpose", "batch", why="it has no operand")
after_all_p.absent("jvp", "transpose", why="tokens have no tangents")
after_all_p.absent("batch", why="a batch has one token")
for _prim in (create_token_p, after_all_p):
    _prim.absent("eager", why="tokens are not NumPy arrays; its implementation creates them")


def create_token(_: object = None) -> Token:
    """Returns a token that depends on nothing.

    Args:
      _: ignored.

    Example:
      >>> jax.make_jaxpr(lax.create_token)()
      { lambda ; . let a:Tok = create_token  in (a,) }
    """
    return create_token_p.bind()


def after_all(*operands: Token) -> Token:
    """Returns a token that depends on all of the tokens `operands`.

    Raises:
      TypeError: if one of the operands is not a token.
    """
    tokens: tuple[Any, ...] = operands  # `bind` is typed for arrays only
    return after_all_p.bind(*tokens)
