"""Programs on values of users' classes are lowered to programs on arrays."""

import numpy as np
import pytest

import jitney
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import Jaxpr, Literal, Var, is_high, new_jaxpr_eqn
from jitney.core.tracing.hi_primitive import HiPrimitive
from jitney.core.tracing.hi_types import AvalQDD, HiType, MutableHiType, register_hitype
from jitney.transforms.lojax import (
    lower_program,
    lowered,
    lowered_types,
    lowered_values,
    raised_values,
    run_lowered,
)

F32 = jitney.typeof(np.float32(0))


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b


class PairType(HiType):
    def __eq__(self, other):
        return type(other) is PairType

    def __hash__(self):
        return hash(PairType)

    def lo_ty(self):
        return [F32, F32]

    def lower_val(self, pair):
        return [pair.a, pair.b]

    def raise_val(self, a, b):
        return Pair(a, b)


class Exchange(HiPrimitive):
    def abstract_eval(self, pair):
        return pair, frozenset()

    def to_lojax(self, pair):
        return Pair(pair.b * 10, pair.a)


class Box:
    def __init__(self, *items):
        self.items = [*items]

    def cur_qdd(self):
        return len(self.items)


class BoxType(MutableHiType):
    def __eq__(self, other):
        return type(other) is BoxType

    def __hash__(self):
        return hash(BoxType)

    def lo_ty_qdd(self, state):
        return [F32] * state

    def new_from_loval(self, state, *values):
        return Box(*values)

    def read_loval(self, state, box):
        return box.items

    def update_from_loval(self, state, box, *values):
        box.items = [*values]


register_hitype(Pair, lambda pair: PairType())
register_hitype(Box, lambda box: BoxType())
exchange = Exchange("test_exchange")
PAIR = Pair(np.float32(1), np.float32(2))


def program(f, *args):
    return jitney.make_jaxpr(f)(*args)


def test_operations_are_those_of_to_lojax():
    closed = program(lambda pair, x: (exchange.bind(pair), x + 1), PAIR, np.float32(5))
    assert is_high(closed)
    low = lower_program(closed)
    assert [e.primitive.name for e in low.closed.eqns] == ["mul", "add"]
    assert low.operands([PAIR, 5]) == [1, 2, 5]
    outs = eval_jaxpr(low.closed.jaxpr, low.closed.consts, *low.operands([PAIR, np.float32(5)]))
    pair, total = low.results(outs, [PAIR, 5])
    assert (pair.a, pair.b, total) == (20, 1, 6)


def test_programs_are_run_lowered():
    closed = program(lambda pair: exchange.bind(exchange.bind(pair)), PAIR)
    runs = []

    def run(low, args):
        runs.append(low)
        return eval_jaxpr(low.jaxpr, low.consts, *args)

    (pair,) = run_lowered(closed, [PAIR], run)
    assert (pair.a, pair.b) == (10, 20)
    assert runs == [lower_program(closed).closed]


def test_programs_on_arrays_stay_the_same():
    closed = program(lambda x: x + 1, np.float32(1))
    assert lowered(closed) is closed


def test_values_are_lowered_and_raised_in_order():
    types = [F32, PairType(), F32]
    assert lowered_types(types) == [F32] * 4
    assert lowered_values(types, [5, PAIR, 6]) == [5, 1, 2, 6]
    first, pair, last = raised_values(types, [5, 1, 2, 6])
    assert (first, pair.a, pair.b, last) == (5, 1, 2, 6)


def test_operations_on_arrays_are_refused():
    pair, out = Var(PairType()), Var(PairType())
    negative = Jaxpr([], [pair], [out], [new_jaxpr_eqn([pair], [out], jitney.lax.neg_p, {})])
    with pytest.raises(
        TypeError, match="neg takes arrays, but its operands have the types PairType"
    ):
        lower_program(negative)


def test_mutable_operands_are_updated_by_their_final_values():
    box = Box(np.float32(1), np.float32(2))
    closed = Jaxpr([], [Var(AvalQDD(BoxType(), 2))], [Literal(np.float32(5), F32)], [])
    low = lower_program(closed)
    assert low.finals == [AvalQDD(BoxType(), 2)]
    assert low.operands([box]) == [1, 2]
    assert len(low.closed.out_avals) == 3
    assert low.results([5, 3, 4], [box]) == [5]
    assert box.items == [3, 4]
