"""`jax.example_libraries.optimizers`: gradient descent methods for pytrees of parameters.

An optimizer is a triple of functions:

    init_fun(params) -> state
    update_fun(step, gradients, state) -> state
    get_params(state) -> params

These functions are written for a single array, and are extended to pytrees by `optimizer`. The
state is a pytree, too, so that it can be passed through `jit`, `scan` and other transformations.

Sources: Qian, On the momentum term in gradient descent, 1999; Nesterov, 1983, in the form of
Sutskever et al., 2013; Duchi et al., Adaptive subgradient methods, 2011 (adagrad); Tieleman and
Hinton, Lecture 6.5, 2012 (rmsprop); Kingma and Ba, Adam, 2015 (adam, adamax); Anil et al.,
Memory-efficient adaptive optimization, 2019 (sm3).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jitney import numpy as jnp
from jitney.core.array import Array as Array
from jitney.core.typing import ArrayLike, PyTree
from jitney.core.util.lazy import listing, refusing
from jitney.tree_util import (
    PyTreeDef,
    register_pytree_node,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_unflatten,
)

__all__ = [
    "Array", "InitFn", "JoinPoint", "Optimizer", "OptimizerState", "Params", "ParamsFn", "Schedule",
    "State", "Step", "UpdateFn", "Updates", "adagrad", "adam", "adamax", "clip_grads", "constant",
    "exponential_decay", "inverse_time_decay", "l2_norm", "make_schedule", "momentum", "nesterov",
    "optimizer", "pack_optimizer_state", "piecewise_constant", "polynomial_decay", "rmsprop",
    "rmsprop_momentum", "sgd", "sm3", "unpack_optimizer_state",
]  # fmt: skip

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)

Step = int
Schedule = Callable[[Step], Any]  # returns a scalar, or an array of rank 0
Params = Any  # pytree of arrays
State = Any  # pytree of arrays
Arrays = tuple[Any, ...]  # the state of one array
Updates = Params  # gradients


class OptimizerState(NamedTuple):
    """The optimizer states of all parameter arrays, and their pytree structures.

    Attributes:
      packed_state: the leaves of the state of each array.
      tree_def: structure of the parameters.
      subtree_defs: the structure of the state of each array.
    """

    packed_state: Sequence[Sequence[Array]]
    tree_def: PyTreeDef
    subtree_defs: Sequence[PyTreeDef]


register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda structure, children: OptimizerState(children[0], *structure),
)

InitFn = Callable[[Params], OptimizerState]
UpdateFn = Callable[[Step, Updates, OptimizerState], OptimizerState]
ParamsFn = Callable[[OptimizerState], Params]


class Optimizer(NamedTuple):
    """An optimizer: functions that create a state, update it, and return its parameters."""

    init_fn: InitFn
    update_fn: UpdateFn
    params_fn: ParamsFn


def optimizer(
    opt_maker: Callable[
        ...,
        tuple[
            Callable[[Params], State],
            Callable[[Step, Updates, Params], Params],
            Callable[[State], Params],
        ],
    ],
) -> Callable[..., Optimizer]:
    """Extends an optimizer of a single array to pytrees of arrays; a decorator.

    Example:
      >>> @optimizers.optimizer
      ... def descent(rate):
      ...     return lambda x: x, lambda step, gradient, x: x - rate * gradient, lambda x: x
      >>> init, update, get_params = descent(0.5)
      >>> get_params(update(0, {"a": 2.0}, init({"a": 3.0})))
      {'a': 2.0}
    """

    @functools.wraps(opt_maker)
    def tree_opt_maker(*args: object, **kwargs: object) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def packed(states: Sequence[State], tree: PyTreeDef) -> OptimizerState:
            flat = [tree_flatten(state) for state in states]
            return OptimizerState(
                tuple([leaves for leaves, _ in flat]), tree, tuple([subtree for _, subtree in flat])
            )

        def states_of(opt_state: OptimizerState) -> list[State]:
            packed_state, _, subtrees = opt_state
            return [
                tree_unflatten(s, leaves) for s, leaves in zip(subtrees, packed_state, strict=True)
            ]

        @functools.wraps(init)
        def tree_init(params: Params) -> OptimizerState:
            leaves, tree = tree_flatten(params)
            return packed([init(x) for x in leaves], tree)

        @functools.wraps(update)
        def tree_update(i: Step, grad_tree: Updates, opt_state: OptimizerState) -> OptimizerState:
            gradients, tree = tree_flatten(grad_tree)
            if tree != opt_state.tree_def:
                raise TypeError(
                    "optimizer: expected gradients with the pytree structure of the parameters, "
                    f"{opt_state.tree_def}, but got {tree}"
                )
            states = zip(gradients, states_of(opt_state), strict=True)
            new = packed([update(i, g, state) for g, state in states], tree)
            for before, after in zip(opt_state.subtree_defs, new.subtree_defs, strict=True):
                if before != after:
                    raise TypeError(
                        "optimizer: an update must not change the pytree structure of a state, but "
                        f"it changed from {before} to {after}"
                    )
            return new

        @functools.wraps(get_params)
        def tree_get_params(opt_state: OptimizerState) -> Params:
            return tree_unflatten(opt_state.tree_def, [get_params(s) for s in states_of(opt_state)])

        return Optimizer(tree_init, tree_update, tree_get_params)

    return tree_opt_maker


# --- optimizers -----------------------------------------------------------------------------------
# Optimizers of a single array. step_size is a scalar or a schedule.


@optimizer
def sgd(step_size: float | Schedule):
    """Returns a gradient descent optimizer, whose update is x - step_size * g.

    Args:
      step_size: positive scalar, or schedule, which is a function from the step index to a scalar.

    Example:
      >>> init, update, get_params = optimizers.sgd(0.5)
      >>> get_params(update(0, 2.0, init(3.0)))
      2.0
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Array, x: Array) -> Array:
        return x - rate(i) * g

    return (lambda x: x), update, (lambda x: x)


@optimizer
def momentum(step_size: float | Schedule, mass: float):
    """Returns a gradient descent optimizer with momentum, which steps along v = mass * v + g."""
    rate = make_schedule(step_size)

    def update(i: Step, g: Array, state: Arrays) -> Arrays:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * velocity, velocity

    return _with_zeros(1), update, _first


@optimizer
def nesterov(step_size: float | Schedule, mass: float):
    """Returns a gradient descent optimizer with Nesterov momentum.

    It updates the velocity, v = mass * v + g, and steps along mass * v + g.
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Array, state: Arrays) -> Arrays:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * (mass * velocity + g), velocity

    return _with_zeros(1), update, _first


@optimizer
def adagrad(step_size: float | Schedule, momentum: float = 0.9):
    """Returns the AdaGrad optimizer, with momentum.

    Gradients are divided by the square root of the sum of all their squares so far.
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Array, state: Arrays) -> Arrays:
        x, total, m = state
        total = total + jnp.square(g)
        m = (1.0 - momentum) * (g * _inverse_root(total)) + momentum * m
        return x - rate(i) * m, total, m

    return _with_zeros(2), update, _first


@optimizer
def rmsprop(step_size: float | Schedule, gamma: float = 0.9, eps: float = 1e-8):
    """Returns the RMSProp optimizer.

    Gradients are divided by the square root of a moving average of their squares, with decay rate
    `gamma`.
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Array, state: Arrays) -> Arrays:
        x, average = state
        average = average * gamma + jnp.square(g) * (1.0 - gamma)
        return x - rate(i) * g / jnp.sqrt(average + eps), average

    return _with_zeros(1), update, _first


@optimizer
def rmsprop_momentum(
    step_size: float | Schedule, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9
):
    """Returns the RMSProp optimizer with momentum."""
    rate = make_schedule(step_size)

    def update(i: Step, g: Array, state: Arrays) -> Arrays:
        x, average, m = state
        average = average * gamma + jnp.square(g) * (1.0 - gamma)
        m = momentum * m + rate(i) * g / jnp.sqrt(average + eps)
        return x - m, average, m

    return _with_zeros(2), update, _first


@optimizer
def adam(step_size: float | Schedule, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8):
    """Returns the Adam optimizer.

    It uses bias-corrected moving averages of gradients and of their squares.

    Args:
      step_size: positive scalar, or schedule, which is a function from the step index to a scalar.
      b1, b2: decay rates of the averages.
      eps: added to the square root in the denominator.

    Example:
      >>> init, update, get_params = optimizers.adam(0.5)
      >>> round(float(get_params(update(0, jnp.array(2.0), init(jnp.array(3.0))))), 3)
      2.5
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Array, state: Arrays) -> Arrays:
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * jnp.square(g) + b2 * v
        mean = m / (1 - jnp.asarray(b1, m.dtype) ** (i + 1))
        square = v / (1 - jnp.asarray(b2, m.dtype) ** (i + 1))
        return x - rate(i) * mean / (jnp.sqrt(square) + eps), m, v

    return _with_zeros(2), update, _first


@optimizer
def adamax(step_size: float | Schedule, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8):
    """Returns the AdaMax optimizer: Adam with a decaying maximum of gradient magnitudes."""
    rate = make_schedule(step_size)

    def update(i: Step, g: Array, state: Arrays) -> Arrays:
        x, m, u = state
        m = (1 - b1) * g + b1 * m
        u = jnp.maximum(b2 * u, jnp.abs(g))
        scale = rate(i) / (1 - jnp.asarray(b1, m.dtype) ** (i + 1))
        return x - scale * m / (u + eps), m, u

    return _with_zeros(2), update, _first


@optimizer
def sm3(step_size: float | Schedule, momentum: float = 0.9):
    """Returns the SM3 optimizer.

    It is like `adagrad`, with sums of squares for each index of each axis instead of each element.
    """
    rate = make_schedule(step_size)

    def init(x0: ArrayLike) -> tuple[Array, Array, list[Array]]:
        x0 = jnp.asarray(x0)
        return x0, jnp.zeros_like(x0), [jnp.zeros(n, dtype=x0.dtype) for n in x0.shape]

    def update(i: Step, g: Array, state: Arrays) -> Arrays:
        x, m, sums = state
        along = [
            v.reshape([-1 if k == axis else 1 for k in range(x.ndim)])
            for axis, v in enumerate(sums)
        ]
        total = functools.reduce(jnp.minimum, along) + jnp.square(g)
        m = (1.0 - momentum) * (g * _inverse_root(total)) + momentum * m
        axes = range(x.ndim)
        sums = [total.max(tuple([k for k in axes if k != axis])) for axis in axes]
        return x - rate(i) * m, m, sums

    return init, update, _first


def _with_zeros(count: int) -> Callable[[Array], tuple[Array, ...]]:
    return lambda x: (x, *[jnp.zeros_like(x) for _ in range(count)])


def _first(state: tuple[Any, ...]) -> Array:
    return state[0]


def _inverse_root(x: Array) -> Array:
    """Returns 1 / sqrt(x), and 0 where x is 0."""
    return jnp.where(x > 0, 1.0 / jnp.sqrt(jnp.where(x > 0, x, 1)), 0.0)


# --- schedules ------------------------------------------------------------------------------------


def constant(step_size: float) -> Schedule:
    """Returns a schedule with a constant step size."""
    return lambda i: step_size


def exponential_decay(step_size: float, decay_steps: float, decay_rate: float) -> Schedule:
    """Returns the schedule step_size * decay_rate ** (i / decay_steps)."""
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(
    step_size: float, decay_steps: float, decay_rate: float, staircase: bool = False
) -> Schedule:
    """Returns the schedule step_size / (1 + decay_rate * i / decay_steps).

    If `staircase` is True, i / decay_steps is rounded down.
    """
    if staircase:
        return lambda i: step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(
    step_size: float, decay_steps: float, final_step_size: float, power: float = 1.0
) -> Schedule:
    """Returns a schedule that decays from `step_size` to `final_step_size` in `decay_steps` steps.

    The difference from `final_step_size` is proportional to (1 - i / decay_steps) ** power.
    """

    def schedule(i: Step) -> Array:
        decay = (1 - jnp.minimum(i, decay_steps) / decay_steps) ** power
        return decay * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(
    boundaries: ArrayLike | Sequence[float], values: ArrayLike | Sequence[float]
) -> Schedule:
    """Returns a schedule whose value is `values[k]` after k of the `boundaries` have been passed.

    Raises:
      ValueError: if the arguments are not vectors, or the number of values is not one more than the
        number of boundaries.
    """
    boundaries, values = jnp.array(boundaries), jnp.array(values)
    if not boundaries.ndim == values.ndim == 1:
        raise ValueError(
            "piecewise_constant: `boundaries` and `values` must have one axis each, but got shapes "
            f"{boundaries.shape} and {values.shape}"
        )
    if boundaries.shape[0] != values.shape[0] - 1:
        raise ValueError(
            "piecewise_constant: there must be one more value than boundaries, but got "
            f"{values.shape[0]} values and {boundaries.shape[0]} boundaries"
        )
    return lambda i: values[jnp.sum(i > boundaries)]


def make_schedule(scalar_or_schedule: float | Schedule) -> Schedule:
    """Returns a schedule unchanged, and converts a scalar to a constant schedule.

    Raises:
      TypeError: if the argument is neither a function nor a scalar.
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if np.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(
        f"make_schedule: expected a number or a function, but got {type(scalar_or_schedule)}"
    )


# --- gradients ------------------------------------------------------------------------------------


def l2_norm(tree: PyTree) -> Array:
    """Returns the Euclidean norm of all elements of a pytree."""
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in tree_leaves(tree)))


def clip_grads(grad_tree: Updates, max_norm: ArrayLike) -> Updates:
    """Scales gradients such that the `l2_norm` of the pytree is at most `max_norm`."""
    norm = l2_norm(grad_tree)
    return tree_map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


# --- states on disk -------------------------------------------------------------------------------


class JoinPoint:
    """A pytree leaf that wraps another pytree, `subtree`."""

    def __init__(self, subtree: PyTree) -> None:
        self.subtree = subtree

    def __iter__(self) -> Iterator[object]:
        """Yields the subtree, so that it can be unpacked by `x, = join_point`."""
        yield self.subtree


def unpack_optimizer_state(opt_state: OptimizerState) -> object:
    """Converts an optimizer state to a pytree with the structure of the parameters.

    Its leaves are `JoinPoint`s that hold the states of the arrays. This form contains no pytree
    structures, and is convenient for writing states to files. `pack_optimizer_state` is the
    inverse.
    """
    packed_state, tree, subtrees = opt_state
    states = [tree_unflatten(s, leaves) for s, leaves in zip(subtrees, packed_state, strict=True)]
    return tree_unflatten(tree, [JoinPoint(state) for state in states])


def pack_optimizer_state(marked_pytree: PyTree) -> OptimizerState:
    """Converts the result of `unpack_optimizer_state` back to an optimizer state.

    Raises:
      ValueError: if a leaf is not a `JoinPoint`.
    """
    sentinels, tree = tree_flatten(marked_pytree)
    if not all(isinstance(s, JoinPoint) for s in sentinels):
        raise ValueError("pack_optimizer_state: all leaves of the pytree must be JoinPoints")
    flat = [tree_flatten(s.subtree) for s in sentinels]
    return OptimizerState(
        tuple([leaves for leaves, _ in flat]), tree, tuple([subtree for _, subtree in flat])
    )
