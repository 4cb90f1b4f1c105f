"""The contexts of lowering rules, and the tokens with which rules of JAX order effects.

Compiled programs preserve the order of effects without tokens, which are values without data that
rules pass on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.source.name_stack import NameStack
from jitney.core.tracing.primitive import Primitive
from jitney.core.types.avals import AbstractValue
from jitney.core.types.effects import Effect
from jitney.core.util.record import record, replace
from jitney.runtime.devices.client import Client, client

if TYPE_CHECKING:
    from jitney.compiler.hlo.build import Builder
    from jitney.core.program.jaxpr import JaxprEqn, JaxprEqnContext
    from jitney.core.source.source_info import Place


class TokenSet:
    """A set of tokens, one per effect.

    Args:
      tokens: a dict from effects to tokens; None for an empty set.
    """

    def __init__(self, tokens: Mapping[Effect, Any] | None = None) -> None:
        self._tokens = dict(tokens or {})

    @classmethod
    def create(cls, effects: Sequence[Effect]) -> TokenSet:
        """Returns a set with a new token for each effect."""
        return cls({effect: np.zeros(0, np.bool_) for effect in effects})

    def get(self, effect: Effect) -> Any:
        """Returns the token of an effect.

        Raises:
          KeyError: if the effect has no token.
        """
        return self._tokens[effect]

    def items(self) -> Sequence[tuple[Effect, Any]]:
        """Returns the (effect, token) pairs."""
        return tuple(self._tokens.items())

    def effects(self) -> set[Effect]:
        """Returns the effects that have a token."""
        return set(self._tokens)

    def subset(self, effects: Sequence[Effect]) -> TokenSet:
        """Returns the set of the tokens of the given effects.

        Raises:
          KeyError: if one of the effects has no token.
        """
        return TokenSet({effect: self._tokens[effect] for effect in effects})

    def update_tokens(self, tokens: TokenSet) -> TokenSet:
        """Returns the set in which the tokens in `tokens` replace those of the same effects."""
        return TokenSet({**self._tokens, **tokens._tokens})

    def __len__(self) -> int:
        return len(self._tokens)


class _TokensIn(TokenSet):
    """The tokens that a rule receives; every effect has a token."""

    def get(self, effect: Effect) -> Any:
        if effect not in self._tokens:
            self._tokens[effect] = np.zeros(0, np.bool_)
        return self._tokens[effect]


@record(frozen=True)
class ModuleContext:
    """The context that all lowering rules of a program share.

    Attributes:
      platforms: the platforms for which the program is compiled.
      builder: the builder that creates nodes of the tensor IR; None outside of rules.
    """

    platforms: tuple[str, ...] = ("cpu",)
    builder: Builder | None = None

    @property
    def backend(self) -> Client:
        """The client of the devices."""
        return client()

    def get_backend(self, optional: bool = False) -> Client:
        """Returns the client of the devices; `optional` is accepted for compatibility."""
        return self.backend

    def add_keepalive(self, keepalive: object) -> None:
        """Does nothing, as a program keeps the Python functions that it calls alive."""

    def replace(self, **kw: object) -> ModuleContext:
        """Returns a copy with some attributes replaced."""
        return replace(self, **kw)


@record
class LoweringRuleContext:
    """The context of one call of a lowering rule.

    Attributes:
      builder: the builder that creates nodes of the tensor IR.
      primitive: the primitive that is lowered.
      avals_in: types of the operands.
      avals_out: types of the results.
      module_context: the context that all lowering rules of a program share.
      tokens_in: the token of each effect; see `TokenSet`.
      tokens_out: the tokens that the rule has passed to `set_tokens_out`, if any.
      platforms: the platforms of the rule; None stands for those of the program.
    """

    builder: Builder
    primitive: Primitive
    avals_in: Sequence[AbstractValue]
    avals_out: Sequence[AbstractValue]
    module_context: ModuleContext = ModuleContext()
    tokens_in: TokenSet | None = None
    tokens_out: TokenSet | None = None
    platforms: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.tokens_in is None:
            self.tokens_in = _TokensIn()

    def set_tokens_out(self, tokens_out: TokenSet) -> None:
        """Sets the tokens that are available after the operation."""
        self.tokens_out = tokens_out

    def is_forward_compat(self) -> bool:
        """Returns whether older versions must be able to read the program: always False."""
        return False

    def replace(self, **kw: object) -> LoweringRuleContext:
        """Returns a copy with some attributes replaced."""
        return replace(self, **kw)

    @property
    def _equation(self) -> JaxprEqn | None:
        origin = self.builder.origin
        return None if origin is None else origin[0]

    @property
    def name_stack(self) -> NameStack:
        """The scopes and transformations of the equation."""
        equation = self._equation
        info: Any = None if equation is None else equation.source_info
        return NameStack() if info is None else info.name_stack

    @property
    def traceback(self) -> Place | None:
        """The location in user code where the equation was recorded, or None if it is unknown."""
        equation = self._equation
        info: Any = None if equation is None else equation.source_info
        return None if info is None else info.traceback

    @property
    def jaxpr_eqn_ctx(self) -> JaxprEqnContext | None:
        """The settings under which the equation was recorded."""
        equation = self._equation
        return None if equation is None else equation.ctx
