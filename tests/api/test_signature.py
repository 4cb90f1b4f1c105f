"""The roles of arguments are resolved against signatures, and splitting a call can be undone."""

import inspect

import pytest

from jitney.api.jit import signature
from jitney.api.jit.signature import CallSpec


def f(a, b, /, c, *rest, d=1, **others):
    pass


def g(x, y, n=2):
    return x, y, n


def spec(fun=g, static_argnums=(), static_argnames=(), donate_argnums=(), donate_argnames=()):
    return CallSpec(
        signature.signature_of(fun), static_argnums, frozenset(static_argnames),
        donate_argnums, frozenset(donate_argnames),
    )  # fmt: skip


def test_numbers_and_names_may_be_single():
    assert signature.canonicalize_argnums(-1, "argnums") == (-1,)
    assert signature.canonicalize_argnums(range(2), "argnums") == (0, 1)
    assert signature.canonicalize_argnames("xy", "argnames") == ("xy",)
    assert signature.canonicalize_argnames(None, "argnames") == ()
    with pytest.raises(TypeError, match="argnums must be an int or a sequence of ints"):
        signature.canonicalize_argnums(1.5, "argnums")
    with pytest.raises(TypeError, match="argnames must be a str or a sequence of strs"):
        signature.canonicalize_argnames(["x", 1], "argnames")


def test_numbers_and_names_are_inferred_from_each_other():
    infer, of_f = signature.infer_argnums_and_argnames, inspect.signature(f)
    assert infer(of_f, None, ("c", "d")) == ((2,), ("c", "d"))
    assert infer(of_f, (0, -1), None) == ((0, -1), ("c",))
    assert infer(of_f, (0,), ("d",)) == ((0,), ("d",))
    assert infer(None, (1,), None) == ((1,), ())


def test_numbers_and_names_that_the_function_lacks_are_refused():
    of_g = inspect.signature(g)
    signature.check_argnums(of_g, g, (-3, 2), "static_argnums")
    with pytest.raises(ValueError, match="must be in the range from -3 to 2"):
        signature.check_argnums(of_g, g, (3,), "static_argnums")
    signature.check_argnames(inspect.signature(f), f, ("c", "anything"), "names")
    with pytest.raises(ValueError, match=r"names must name parameters .*\{'a'\}"):
        signature.check_argnames(inspect.signature(f), f, ("a",), "names")


@pytest.mark.parametrize("numbers", [(), (0,), (1,), (-1,), (0, 2), (5,)])
@pytest.mark.parametrize("names", [(), ("n",), ("absent",)])
def test_merge_undoes_split(numbers, names):
    args, kwargs = (1.0, "two", 3), {"n": 4, "m": 5.0}
    split = spec(static_argnums=numbers, static_argnames=names).split(args, kwargs)
    assert spec(static_argnums=numbers).merge(*split) == (args, kwargs)


def test_keys_of_static_arguments_tell_types_and_signs_of_zeros_apart():
    def key(x):
        return spec(static_argnums=(0,)).split((x,), {})[2]

    assert key((1, 2)) == key(tuple(range(1, 3))) != key((1, 3))
    assert key(1) == key(1) and hash(key(1)) == hash(key(1))
    assert key(1) != key(1.0) and key(0.0) != key(-0.0) and key(True) != key(1)
    with pytest.raises(ValueError, match=r"static argument 0 must be hashable[\s\S]*\(1, 2\)"):
        key([1, 2])


def test_donation_and_names_of_leaves():
    tree, kwargs = {"p": 1.0, "q": (2.0, 3.0)}, {"n": 4.0}
    own = spec(static_argnums=(0,), donate_argnums=(1,), donate_argnames=("n",))
    args, kwargs, static = own.split(("static", tree), kwargs)
    assert own.donated(args, kwargs) == (True, True, True, True)
    assert own.argument_names(args, kwargs, static) == ["y['p']", "y['q'][0]", "y['q'][1]", "n"]
    assert spec(f).argument_names((1, 2, 3, 4), {"z": 5}, None) == [
        "a", "b", "c", "rest[0]", "others['z']",
    ]  # fmt: skip


def test_arguments_by_position_have_defaults_filled_in():
    assert signature.positional(g, (1,), {"y": 3}, "custom_jvp") == (1, 3, 2)
    assert signature.positional(g, (1, 2, 3), {}, "custom_jvp") == (1, 2, 3)
    with pytest.raises(TypeError, match=r"custom_jvp: .*do not fit the signature"):
        signature.positional(g, (1,), {"w": 3}, "custom_jvp")
    with pytest.raises(TypeError, match="keyword-only, so they have no position: d"):
        signature.positional(f, (1, 2, 3), {"d": 3}, "custom_vjp")
