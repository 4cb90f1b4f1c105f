"""`jax.ad`: which cotangents a pullback is to compute (`jax.vjp(...)[1].with_refs`)."""

from jitney.api.pullback import DidntWant, DontWant, GradRef, GradValue

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue"]
