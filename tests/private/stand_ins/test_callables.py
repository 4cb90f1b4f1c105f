"""Names, memoization and equality of functions, as packages use them of `jax._src.util`."""

import functools
import gc
import weakref

import pytest

import jitney
from jitney.private.stand_ins.callables import (
    HashableFunction,
    HashablePartial,
    HashableWrapper,
    StrictABC,
    Unhashable,
    WithHash,
    cache,
    curry,
    fun_name,
    fun_qual_name,
    fun_signature,
    weakref_lru_cache,
    wraps,
)


class Callable:
    """An object with a call, which can be the target of weak references."""

    def __init__(self, key):
        self.key = key

    def __eq__(self, other):
        return self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def __call__(self):
        return self.key


def test_names_are_those_of_the_function_within():
    assert fun_name(len) == "len" and fun_name(functools.partial(len)) == "len"
    assert fun_name(Callable(1), "default") in ("Callable", "default")
    assert fun_qual_name(functools.partial(Callable.__eq__, 1)) == "Callable.__eq__"
    assert fun_qual_name(Callable(1)) == "Callable"


def test_a_wrapper_takes_over_names_documents_and_attributes():
    def f(x: int):
        """Of f."""

    f.mark = 5
    g = wraps(f, "{fun}_{kind}", "{doc} {kind}", kind="new")(lambda x: x)
    assert (g.__name__, g.__doc__, g.mark) == ("f_new", "Of f. new", 5)
    assert g.__wrapped__ is f and g.__annotations__ == f.__annotations__
    assert wraps(functools.partial(f))(lambda: 0).__name__ == "f"


def test_results_are_kept_by_arguments_and_settings():
    calls = []
    f = cache()(lambda x, y=0: calls.append((x, y)) or len(calls))
    assert f(1) == f(1) == 1 and f(1, y=2) == 2
    with jitney.enable_x64(True):
        assert f(1) == 3
    assert f(1) == 1
    f.cache_clear()
    assert f(1) == 4 and f.cache_info().currsize == 1


def test_settings_may_be_ignored_or_replaced_by_a_key():
    keys = [0]
    ignoring = cache(trace_context_in_key=False)(lambda: object())
    keyed = cache(trace_context_in_key=lambda: keys[0])(lambda: object())
    first, other = ignoring(), keyed()
    with jitney.enable_x64(True):
        assert ignoring() is first and keyed() is other
    keys[0] = 1
    assert keyed() is not other


def test_first_arguments_are_kept_weakly():
    calls = []
    f = weakref_lru_cache(lambda first, x: calls.append(first.key) or x)
    x = Callable("a")
    assert f(x, 1) == f(Callable("a"), 1) == 1 and f(x, 2) == 2 and calls == ["a", "a"]
    ref = weakref.ref(x)
    del x
    gc.collect()
    assert ref() is None
    assert f(Callable("a"), 1) == 1 and len(calls) == 3


def test_functions_of_one_code_and_closure_are_equal():
    def make(n):
        return lambda: n

    a, b, c = (HashableFunction(make(n), n) for n in (1, 1, 2))
    assert a == b != c and hash(a) == hash(b) and a() == 1
    p, q = HashablePartial(divmod, 7), HashablePartial(divmod, 7)
    assert p == q != HashablePartial(divmod, 8) and hash(p) == hash(q) and p(4) == (1, 3)
    assert HashablePartial(make, n=1) != HashablePartial(make, n=2)


def test_values_that_are_not_hashable_are_keys_by_identity():
    x = [1]
    assert HashableWrapper(x) == HashableWrapper(x) != HashableWrapper([1])
    assert HashableWrapper((1,)) == HashableWrapper((1,)) and HashableWrapper(1) != 1
    assert hash(WithHash("a", 7, str.__eq__)) == 7
    assert WithHash(1, 0, lambda a, b: a % 2 == b % 2) == WithHash(3, 0, None)
    assert Unhashable(1) == Unhashable(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Unhashable(1))


def test_strict_classes_have_no_virtual_subclasses():
    class Shape(StrictABC):
        pass

    with pytest.raises(NotImplementedError, match="Shape cannot have virtual subclasses"):
        Shape.register(int)


def test_arguments_are_bound_one_step_at_a_time():
    assert curry(divmod)(7)(2) == (3, 1)
    assert str(fun_signature(lambda a, *, b=1: 0)) == "(a, *, b=1)"
    assert fun_signature(3) is None
