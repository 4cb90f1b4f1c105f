"""Which rules of primitives run: counted by wrapping them, whatever calls them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jitney
import jitney.custom_batching  # declares custom_vmap_call
import jitney.custom_derivatives  # declares linear_call
from jitney.core.tracing.primitive import Primitive, registry
from jitney.primitives import load_all

Ran = set[tuple[str, str]]
"""(primitive, slot)."""


def declared() -> Ran:
    """All rules that the package declares."""
    load_all.load()
    return {
        (name, slot)
        for name, prim in registry.items()
        for slot, rule in prim.rules.items()
        if _is_ours(rule)
    }


def _is_ours(rule: Callable[..., Any]) -> bool:
    """Whether `rule` is the package's own: tests that ran before may have declared primitives."""
    return (inspect.unwrap(rule).__module__ or "").startswith("jitney.")


@contextmanager
def counted() -> Iterator[Ran]:
    """The rules that run within it. What is memoised is forgotten first: it would run no rule."""
    load_all.load()
    jitney.clear_caches()
    ran: Ran = set()
    kept = {
        name: (prim.rules, prim.abstract_rule, prim.eager_rule) for name, prim in registry.items()
    }
    for prim in registry.values():
        prim.abstract_memo.clear()
        _wrap(prim, ran)
    try:
        yield ran
    finally:
        for name, (rules, abstract, eager) in kept.items():
            prim = registry[name]
            prim.rules, prim.abstract_rule, prim.eager_rule = rules, abstract, eager
        jitney.clear_caches()


def _wrap(prim: Primitive, ran: Ran) -> None:
    def noting(slot: str, rule: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(rule)
        def run(*args: Any, **kwargs: Any) -> Any:
            ran.add((prim.name, slot))
            return rule(*args, **kwargs)

        return run

    prim.rules = {slot: noting(slot, rule) for slot, rule in prim.rules.items()}
    prim.abstract_rule = prim.rules.get("abstract", prim.abstract_rule)
    prim.eager_rule = prim.rules.get("eager", prim.eager_rule)
