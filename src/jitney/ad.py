"""`jax.ad`: selection of the cotangents that a pullback computes (`jax.vjp(...)[1].with_refs`)."""

from jitney.api.autodiff.pullback import DidntWant, DontWant, GradRef, GradValue

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue"]
