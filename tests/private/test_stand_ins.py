"""Functions that are private in JAX do here what they do there."""

import importlib
import weakref

import numpy as np
import pytest
from tests.helpers.both import check

import jitney
from jitney.private.stand_ins import callables as util


def of(jax, module):
    return importlib.import_module(f"{jax.__name__}._src.{module}")


def test_lists():
    def case(jax, jnp):
        util = of(jax, "util")
        ordered = util.OrderedSet()
        ordered.update([3, 1])
        ordered.add(2)
        ordered.add(3)
        return {
            "unzip2": [util.unzip2([(1, "a"), (2, "b")]), util.unzip2([])],
            "unzip3": util.unzip3([(1, 2, 3), (4, 5, 6)]),
            "subvals": util.subvals([1, 2, 3], [(0, 9), (2, 7)]),
            "split_list": [util.split_list([1, 2, 3, 4], ns) for ns in ([1, 2], [], [0, 4])],
            "checked": util.split_list_checked([1, 2, 3], [1, 2]),
            "partition": util.partition_list([True, False, True], "abc"),
            "merge": util.merge_lists([True, False, True], ["b"], ["a", "c"]),
            "subs": util.subs_list([None, 1, None], [10, 11], [20, 21]),
            "subs2": util.subs_list2([None, 0, None], [1, 0, None], [10], [20, 21], [30]),
            "concatenate": util.concatenate([(1, 2), (3,)]),
            "flatten": util.flatten([(1, 2), (3,)]),
            "unflatten": util.unflatten([1, 2, 3], [2, 0, 1]),
            "tuples": [
                util.tuple_insert((1, 2), 1, 9),
                util.tuple_delete((1, 2), 0),
                util.tuple_update((1, 2), 1, 9),
            ],
            "unique": list(util.stable_unique([3, 1, 3, 2, 1])),
            "ratio": [util.ceil_of_ratio(7, 3), util.ceil_of_ratio(6, 3), util.ceil_of_ratio(0, 3)],
            "axes": [util.canonicalize_axis(-1, 3), util.canonicalize_axis(np.int8(2), 3)],
            "tuple of axes": [
                util.canonicalize_axis_tuple(axis, 3) for axis in (None, -1, (0, -1), ())
            ],
            "named": [
                util.maybe_named_axis(axis, lambda k: ("position", k), lambda k: ("name", k))
                for axis in (1, "i")
            ],
            "ordered": list(ordered),
        }

    check(case)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda util: util.canonicalize_axis(3, 3),
        lambda util: util.canonicalize_axis(-4, 3),
        lambda util: util.canonicalize_axis_tuple((0, 0), 2),
        lambda util: util.split_list_checked([1, 2], [1]),
        lambda util: util.partition_list([True], [1, 2]),
        lambda util: util.merge_lists([True], [1], [2]),
        lambda util: util.subs_list([None], [], [1, 2]),
        lambda util: util.tuple_delete((1,), 1),
    ],
)
def test_lists_refused(wrong):
    check(lambda jax, jnp: wrong(of(jax, "util")))


def named(x, y=1):
    """Adds."""
    return x + y


def test_callables():
    def case(jax, jnp):
        util = of(jax, "util")

        @util.wraps(named, namestr="{fun}_of", docstr="{doc} As {who}.", who="me")
        def wrapper(*args):
            return named(*args)

        @util.set_module("elsewhere")
        def moved():
            pass

        def other(x):
            return x

        return {
            "wraps": [wrapper.__name__, wrapper.__doc__, wrapper(2)],
            "plain": util.wraps(named)(lambda *args: 0).__name__,
            "names": [util.fun_name(named), util.fun_name(util.curry(named)(1))],
            "qualified": util.fun_qual_name(named),
            "wrapped": util.wrap_name("vmap", "f"),
            "curry": util.curry(named)(1)(2),
            "partials": [
                util.HashablePartial(named, 1) == util.HashablePartial(named, 1),
                util.HashablePartial(named, 1) == util.HashablePartial(named, 2),
                hash(util.HashablePartial(named, 1)) == hash(util.HashablePartial(named, 1)),
                util.HashablePartial(named, 1)(5),
            ],
            "functions": [
                util.HashableFunction(named, (1,)) == util.HashableFunction(named, (1,)),
                util.HashableFunction(named, (1,)) == util.HashableFunction(other, (1,)),
                util.HashableFunction(named, (1,))(2),
            ],
            "wrappers": [
                util.HashableWrapper(1) == util.HashableWrapper(1),
                util.HashableWrapper([]) == util.HashableWrapper([]),
            ],
            "module": moved.__module__,
            "cpp": util.use_cpp_method()(named) is named,
        }

    check(case)


def test_caches():
    def case(jax, jnp):
        util = of(jax, "util")
        calls = []

        @util.cache()
        def squared(x):
            calls.append(x)
            return x * x

        values = [squared(3), squared(3), squared(4)]
        with jax.enable_x64(True):
            values.append(squared(3))
        squared.cache_clear()
        squared(3)

        class Key:
            pass

        @util.weakref_lru_cache
        def of_key(key, n):
            calls.append(n)
            return n

        key = Key()
        return values, [of_key(key, 1), of_key(key, 1), of_key(key, 2), of_key(Key(), 1)], calls

    check(case)


def test_caches_call_with_the_callers_object():
    """Keys are equal in JAX, too, which calls the function with the object that it is given."""

    class Key:
        def __init__(self, name):
            self.name = name

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 0

    @util.weakref_lru_cache
    def name_of(key, n):
        return key.name, n

    a, b = Key("a"), Key("b")
    assert [name_of(a, 1), name_of(b, 1), name_of(b, 2)] == [("a", 1), ("a", 1), ("b", 2)]
    gone = weakref.ref(b)
    del b
    assert gone() is None
    del a
    assert name_of(Key("c"), 1) == ("c", 1)


def test_cached_function_is_given_an_object_though_an_equal_one_goes():
    class Key:
        def __eq__(self, other):
            return True

        def __hash__(self):
            return 0

    class Last:
        """Another holder lets go while the entry is looked up."""

        def __hash__(self):
            held.clear()
            return 0

    @util.weakref_lru_cache
    def given(key, other):
        return type(key)

    held = [Key()]
    given(held[0], 1)
    assert given(Key(), Last()) is Key


def test_operands():
    def case(jax, jnp):
        util = of(jax, "numpy.util")
        half = jnp.ones(2, jnp.float16)
        return {
            "complex": util.promote_dtypes_complex(1, half),
            "args": util.promote_args_complex("f", jnp.arange(3), 2.0),
            "inexact": util.promote_args_inexact("f", jnp.arange(3), 2),
            "dtypes": util.promote_dtypes(half, jnp.arange(2), True),
            "numeric": util.promote_dtypes_numeric(True, False),
            "tuple": util.ensure_arraylike_tuple("f", [1, half]),
            "where": util._where(jnp.array([True, False]), 1, half),
            "broadcast": util._broadcast_to(half, (3, 2)),
            "arrays": util._broadcast_arrays(half, jnp.ones((3, 1))),
            "arraylike": [util._arraylike(x) for x in (1, half, "a", [1], None, np.ones(2))],
            "none": util.check_arraylike_or_none("f", None, 1),
        }

    check(case)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda util, jax: util.check_arraylike("f", [1, 2]),
        lambda util, jax: util.check_arraylike_or_none("f", None, "a"),
        lambda util, jax: util.check_no_float0s("f", np.zeros(2, jax.dtypes.float0)),
        lambda util, jax: util.ensure_arraylike_tuple("f", [1, "a"]),
    ],
)
def test_operands_refused(wrong):
    check(lambda jax, jnp: wrong(of(jax, "numpy.util"), jax))


KINDS = "bool int8 uint16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize("x64", [False, True])
def test_dtypes(x64):
    def case(jax, jnp):
        dtypes = of(jax, "dtypes")
        with jax.enable_x64(x64):
            defaults = "int uint float complex".split()
            return {
                "default": [str(getattr(dtypes, f"default_{kind}_dtype")()) for kind in defaults],
                "floating": [str(dtypes.to_floating_dtype(jnp.dtype(kind))) for kind in KINDS],
                "complex": [str(dtypes.to_complex_dtype(jnp.dtype(kind))) for kind in KINDS],
                "inexact": [str(dtypes.to_inexact_dtype(jnp.dtype(kind))) for kind in KINDS],
                "infinite": [dtypes.supports_inf(jnp.dtype(kind)) for kind in KINDS],
                "narrow": [
                    dtypes.supports_inf(getattr(jnp, kind))
                    for kind in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz")
                ],
            }

    check(case)


def test_extents():
    def case(jax, jnp):
        core = of(jax, "core")
        n = jax.export.symbolic_shape("n")[0]
        f32, i32 = (core.ShapedArray((2,), np.dtype(kind)) for kind in ("float32", "int32"))
        return {
            "shape": core.canonicalize_shape((np.int32(2), 3)),
            "empty": [core.is_empty_shape(s) for s in ((), (2,), (2, 0))],
            "equal": [
                core.definitely_equal(2, 2),
                core.definitely_equal(n, n),
                core.definitely_equal(n, 2),
            ],
            "shapes": [
                core.definitely_equal_shape((2, n), (2, n)),
                core.definitely_equal_shape((2,), (2, 1)),
            ],
            "divided": [core.divide_shape_sizes((4, 3), (6,)), core.divide_shape_sizes((0,), (0,))],
            "windows": [
                core.stride_dim(7, 3, 2),
                core.stride_dim(2, 3, 1),
                core.dilate_dim(3, 2),
                core.dilate_dim(0, 2),
            ],
            "slices": [
                core.canonicalize_slice(s, 8)
                for s in (slice(5, None, -2), slice(None), slice(6, 2))
            ],
            "kinds": [core.is_dim(2), core.is_dim(n), core.is_dim(2.5), core.is_symbolic_dim(n)],
            "value": core.dimension_as_value(3),
            "types": [
                core.typematch(f32, f32),
                core.typematch(f32, i32),
                core.typematch(f32, i32, no_dtype_check=True),
            ],
            "checked": [core.typecheck(f32, jnp.ones(2)), core.typecheck(f32, jnp.ones(3))],
        }

    check(case)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda core: core.canonicalize_shape((2, "a")),
        lambda core: core.canonicalize_shape((2.5,)),
        lambda core: core.divide_shape_sizes((3,), (2,)),
    ],
)
def test_extents_refused(wrong):
    check(lambda jax, jnp: wrong(of(jax, "core")))


def test_generalized_ufuncs():
    def case(jax, jnp):
        vectorize = of(jax, "numpy.vectorize")
        dims, outs = vectorize._parse_gufunc_signature("(m,n),(n)->(m)")
        shape, sizes = vectorize._parse_input_dimensions(
            (jnp.ones((4, 2, 3)), jnp.ones((5, 1, 3))), dims
        )

        def four(a, b, c=1, d=2):
            return a, b, c, d

        calls = []
        for excluded in (set(), {0}, {"c"}, {"c", 0}):
            function, args, kwargs = vectorize._apply_excluded(
                four, excluded, (1, 2), {"c": 5, "d": 7}
            )
            calls.append((list(args), kwargs, function(*args, **kwargs)))
        product = vectorize._check_output_dims(jnp.matmul, {"m": 2, "n": 3}, [("m",)])
        return dims, outs, shape, sizes, calls, product(jnp.ones((2, 3)), jnp.ones(3))

    check(case)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda v, jnp: v._parse_gufunc_signature("(m->n)"),
        lambda v, jnp: v._parse_input_dimensions((jnp.ones(2),), [("m",), ("n",)]),
        lambda v, jnp: v._parse_input_dimensions((jnp.ones(2), jnp.ones(3)), [("m",), ("m",)]),
        lambda v, jnp: v._check_output_dims(jnp.sin, {"m": 2}, [("m",)])(jnp.ones(3)),
    ],
)
def test_generalized_ufuncs_refused(wrong):
    check(lambda jax, jnp: wrong(of(jax, "numpy.vectorize"), jnp))


def test_jacobians():
    def case(jax, jnp):
        api = of(jax, "api")
        tree = {"a": jnp.arange(2.0), "b": jnp.float32(3.0)}

        def f(t):
            return t["a"] * t["b"]

        basis = api._std_basis(tree)
        matrix = jnp.arange(12.0).reshape(4, 3)
        return {
            "basis": basis,
            "forward": api._jacfwd_unravel(tree, None, matrix),
            "reverse": api._jacrev_unravel(tree, None, matrix.T),
            "jvp": api._jvp(f, (tree,), (tree,)),
        }

    check(case)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda api, jnp: api._check_input_dtype_jacfwd(False, jnp.arange(2)),
        lambda api, jnp: api._check_input_dtype_jacfwd(True, jnp.ones(2)),
        lambda api, jnp: api._check_output_dtype_jacfwd(True, jnp.ones(2)),
        lambda api, jnp: api._check_output_dtype_jacfwd(False, jnp.ones(2)),
    ],
)
def test_jacobians_refused(wrong):
    check(lambda jax, jnp: wrong(of(jax, "api"), jnp))


def test_arguments():
    def case(jax, jnp):
        util = of(jax, "api_util")
        return [
            util._ensure_index(np.int8(2)),
            util._ensure_index([1, 2]),
            util._ensure_index_tuple(3),
            util._ensure_str_tuple("a"),
            util._ensure_str_tuple(["a", "b"]),
            util.is_hashable(()),
            util.is_hashable([]),
        ]

    check(case)
    check(lambda jax, jnp: of(jax, "api_util")._ensure_index("a"))
    check(lambda jax, jnp: of(jax, "api_util")._ensure_str_tuple([1]))


def test_batches():
    def case(jax, jnp):
        cut = of(jax, "lax.control_flow.loops")._batch_and_remainder
        x = {"a": jnp.arange(7), "b": jnp.arange(14.0).reshape(7, 2)}
        return [cut(x, n) for n in (1, 3, 7, 9)]

    check(case)


def test_registry_of_containers():
    def case(jax, jnp):
        registry = of(jax, "tree_util")._registry
        parts = []
        for x in ([1, 2], (1, 2), {"b": 1, "a": 2}, None):
            entry = registry[type(x)]
            children, data = entry.to_iter(x)
            parts.append((list(children), entry.from_iter(data, list(children))))
        return parts, dict in registry, int in registry

    check(case)


def test_closeness():
    def case(jax, jnp):
        test = of(jax, "public_test_util")
        results = []
        for x, y, tolerance in [
            (1.0, 1.0, None),
            (1.0, 1.1, None),
            (1.0, 1.1, 0.2),
            (1.0, 1.1, {np.float32: 0.2}),
            (1, 2, None),
        ]:
            try:
                test.check_close({"a": jnp.array(x)}, {"a": jnp.array(y)}, tolerance, tolerance)
                results.append(True)
            except AssertionError:
                results.append(False)
        return (
            results,
            test.tolerance(np.float32, None),
            test.tolerance(np.float32, {np.float32: 1}),
        )

    check(case)


def test_canonical_shardings():
    P = jitney.P
    canonical = of(jitney, "sharding_impls").canonicalize_sharding
    assert canonical(None, "f") is None
    with pytest.raises(ValueError, match="mesh"):
        canonical(P("i"), "f")
    mesh = jitney.make_mesh((1,), ("i",), (jitney.sharding.AxisType.Explicit,))
    with jitney.set_mesh(mesh):
        assert canonical(P("i"), "f").spec == P("i")


@pytest.mark.parametrize("module", ["random.threefry2x32", "prng"])
def test_threefry_on_words(module):
    """The words are those of keys, whose numbers are compared with JAX's elsewhere."""
    words = of(jitney, module)
    random, jnp = jitney.random, jitney.numpy
    key = random.key(7)
    data = words.threefry_seed(jnp.asarray(7))
    pairs = [
        (data, random.key_data(key)),
        (words.threefry_split(data, (3,)), random.key_data(random.split(key, 3))),
        (words.threefry_fold_in(data, jnp.uint32(5)), random.key_data(random.fold_in(key, 5))),
        (words.threefry_random_bits(data, 16, (4,)), random.bits(key, (4,), "uint16")),
    ]
    for ours, theirs in pairs:
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
