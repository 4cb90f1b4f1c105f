"""Linear programs are transposed: cotangents flow from results to linear operands."""

import numpy as np
import pytest

import jitney
from jitney.core.tracing.primitive import Primitive
from jitney.core.types.avals import shaped_array
from jitney.transforms.accumulators import NullAccum, ValAccum
from jitney.transforms.transpose import (
    UndefinedPrimal,
    accumulator_of,
    backward_pass,
    is_undefined_primal,
    logged_backward_pass,
)
from jitney.transforms.zero import Zero

F32 = shaped_array((), np.dtype(np.float32))
LINEAR = UndefinedPrimal(F32)


def program(f, n):
    return jitney.make_jaxpr(f)(*[np.float32(0)] * n).jaxpr


def shown(cotangents):
    return [None if isinstance(ct, Zero) else float(ct) for ct in cotangents]


def test_cotangents_are_products_with_known_operands():
    jaxpr = program(lambda a, x, y: (a * x + y, 2.0 * y), 3)
    cts = [np.float32(3), np.float32(7)]
    found = backward_pass(jaxpr, (), [np.float32(5), LINEAR, LINEAR], cts)
    assert shown(found) == [None, 15, 17]


def test_results_without_cotangents_need_no_computation():
    jaxpr = program(lambda x, y: (x * 2.0, y * 3.0), 2)
    zero = Zero(F32)
    assert shown(backward_pass(jaxpr, (), [LINEAR] * 2, [zero, np.float32(1)])) == [None, 3]
    assert shown(backward_pass(jaxpr, (), [LINEAR] * 2, [zero, zero])) == [None, None]


def test_contributions_are_added_and_operands_may_be_results():
    jaxpr = program(lambda x: (x, x + x, -x), 1)
    cts = [np.float32(k) for k in (1, 10, 100)]
    assert shown(backward_pass(jaxpr, (), [LINEAR], cts)) == [1 + 20 - 100]


def test_unwanted_cotangents_are_not_computed():
    p = Primitive("test_linear")
    p.def_abstract_eval(lambda x: x)
    p.def_impl(lambda x: x)
    jaxpr = program(lambda x, y: (p.bind(x), y * 2.0), 2)
    cts = [np.float32(1), np.float32(1)]
    found = backward_pass(jaxpr, (), [LINEAR] * 2, cts, [False, True])
    assert shown(found) == [None, 2]
    both = program(lambda x, y: (x, y), 2)
    assert shown(backward_pass(both, (), [LINEAR] * 2, cts, [False, True])) == [None, 1]
    with pytest.raises(NotImplementedError, match="'test_linear' has no transpose rule"):
        backward_pass(jaxpr, (), [LINEAR] * 2, cts)


def test_logs_are_collected():
    p = Primitive("test_logged")
    p.def_abstract_eval(lambda x: x)
    p.logged_transpose(lambda ct, x: ([ct], {"ct": ct}))
    jaxpr = program(lambda x: p.bind(x), 1)
    cts, log = logged_backward_pass(jaxpr, (), [LINEAR], [np.float32(4)])
    assert shown(cts) == [4]
    assert log == {"ct": 4}
    twice = program(lambda x: p.bind(p.bind(x)), 1)
    with pytest.raises(ValueError, match="each name must occur once, but 'ct'"):
        logged_backward_pass(twice, (), [LINEAR], [np.float32(4)])


def test_accumulators_of_operands():
    own = ValAccum(F32)
    assert accumulator_of(UndefinedPrimal(F32, own)) == (own, False)
    new, is_returned = accumulator_of(LINEAR)
    assert (type(new), is_returned) == (ValAccum, True)
    null, is_returned = accumulator_of(np.float32(1))
    assert (type(null), is_returned) == (NullAccum, False)
    assert is_undefined_primal(LINEAR)
    assert not is_undefined_primal(1.0)
    assert (LINEAR.shape, LINEAR.dtype) == ((), np.float32)
