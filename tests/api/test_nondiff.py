"""Nondifferentiable arguments are taken out of a call and put back at their positions."""

import pytest

import jitney as jax
from jitney.api.autodiff.nondiff import NondiffArguments, has_tracers
from jitney.core.program.evaluate import eval_jaxpr


def f(a, x, b, y):
    return a(x) * b + y


@pytest.mark.parametrize(
    "argnums, argnames, positions",
    [((0,), (), (0,)), ((-2, 0), (), (0, 2)), ((), "b", (2,)), ((2,), ("a", "b"), (0, 2))],
)
def test_positions_come_from_numbers_and_names(argnums, argnames, positions):
    own = NondiffArguments(f, argnums, argnames)
    assert own.positions == positions
    nondiff, others = own.split("axby")
    assert list(nondiff.values()) == ["axby"[i] for i in positions]
    assert own.merged(nondiff, others) == list("axby")


def test_names_that_the_function_lacks_are_refused():
    with pytest.raises(ValueError, match="the function has no parameter 'z'"):
        NondiffArguments(f, (), ("z",))


@pytest.mark.parametrize("are_lifted", [False, True])
def test_programs_with_fixed_and_lifted_arguments(are_lifted):
    own = NondiffArguments(f, (0, 2), ())
    fixed, lifted = {0: abs}, {}
    (lifted if are_lifted else fixed)[2] = 3.0
    program, operands = own.traced(fixed, lifted, [-2.0, 5.0])
    assert len(operands) == 2 + are_lifted
    assert eval_jaxpr(program.closed.jaxpr, program.closed.consts, *operands) == [11.0]


def test_unhashable_arguments_become_part_of_a_program():
    own = NondiffArguments(lambda sizes, x: x * len(sizes), (0,), ())
    program, operands = own.traced({0: [1, 2]}, {}, [4.0])
    assert eval_jaxpr(program.closed.jaxpr, program.closed.consts, *operands) == [8.0]


def test_tracers_are_found_within_trees():
    found = []
    jax.make_jaxpr(lambda x: found.append(has_tracers({"k": (1, x)})))(1.0)
    assert found == [True] and not has_tracers({"k": (1, 2.0)})
