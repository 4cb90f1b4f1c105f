"""Keys of generators other than Threefry-2x32, and users' own, against real jax."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from tests.helpers.both import Cases, check

import jitney
import jitney.numpy as jnp
from jitney import lax, random
from jitney.extend.random import define_prng_impl
from jitney.primitives.random.counter_based import philox2x32, philox4x32, threefry4x32

NAMES = ("rbg", "unsafe_rbg", "philox2x32", "philox4x32", "threefry4x32")
BATCHING = ("rbg", "unsafe_rbg", "threefry4x32")

same = Cases()


@same
def typed_keys_by_an_option(jax, jnp):
    @jax.enable_custom_prng()
    def made():
        return jax.random.PRNGKey(3), jax.jit(lambda n: jax.random.PRNGKey(n))(4)

    with jax.enable_custom_prng(False):
        raw = jax.random.PRNGKey(5)
    return made(), made(), raw, jax.random.PRNGKey(6)


def data_of(jax, tree):
    """Keys of a pytree as their data."""

    def data(x):
        is_key = jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key)
        return jax.random.key_data(x) if is_key else x

    return jax.tree.map(data, tree)


# --- the hashes -----------------------------------------------------------------------------------

# Words under a key of zeros, and of ones: Random123's known answers (kat_vectors).
KNOWN = {
    "philox2x32": (
        lambda k, c: philox2x32(k[0], *c), 1, 2,
        "ff1dae59 6cd10df2", "2c3f628b ab4fd7ad",
    ),
    "philox4x32": (
        philox4x32, 2, 4,
        "6627e8d5 e169c58d bc57ac4c 9b00dbd8", "408f276d 41c83b0e a20bc7c6 6d5451fd",
    ),
    "threefry4x32": (
        threefry4x32, 4, 4,
        "9c6ca96a e17eae66 fc10ecd4 5256a7d8", "2a881696 57012287 f6c7446e a16a6732",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_known_answers(name):
    hashed, n_key, n_counter, of_zeros, of_ones = KNOWN[name]
    for word, wanted in ((0, of_zeros), (0xFFFFFFFF, of_ones)):
        words = [jnp.uint32(word)] * (n_key + n_counter)
        got = hashed(words[:n_key], words[n_key:])
        assert " ".join(f"{int(w):08x}" for w in got) == wanted


# --- keys and draws -------------------------------------------------------------------------------


@pytest.mark.parametrize("impl", NAMES)
def test_draws(impl):
    def case(jax, jnp):
        random = jax.random
        key = random.key(1701, impl=impl)
        made = [key, random.split(key, (2, 3)), random.split(key, 0), random.fold_in(key, 7)]
        made += [random.key(seed, impl=impl) for seed in (-1, 2**31 - 1)]
        drawn = [random.bits(key, (3, 5), f"uint{width}") for width in (8, 16, 32)]
        drawn += [random.uniform(key, (2,)), random.permutation(key, 5), random.bits(key, (0, 2))]
        return made, drawn, repr(key), str(key.dtype), random.key_impl(key), key.nbytes

    check(case)


@pytest.mark.parametrize("impl", BATCHING)
def test_vmap(impl):
    def case(jax, jnp):
        random = jax.random

        def of_key(key):
            return random.split(key, 3), random.bits(key, (2,)), random.fold_in(key, 7)

        def folded(keys, numbers):
            over_numbers = jax.vmap(random.fold_in, (None, 0))
            return jax.vmap(over_numbers, (0, None))(keys, numbers)

        keys = random.split(random.key(0, impl=impl), (2, 3))
        return (
            jax.vmap(jax.vmap(of_key))(keys),
            jax.vmap(of_key, out_axes=1)(keys[:, 1]),
            folded(keys[0], jnp.arange(2)),
            jax.vmap(random.fold_in)(keys[0], jnp.arange(3)),
            jax.vmap(lambda seed: random.key(seed, impl=impl))(jnp.arange(3)),
        )

    check(case)


@pytest.mark.parametrize("impl", ("rbg", "unsafe_rbg"))
def test_programs(impl):
    def case(jax, jnp):
        lax, random = jax.lax, jax.random
        outer = random.key(5, impl=impl)

        def step(key, x):
            key, sub = random.split(key)
            return key, random.uniform(sub, (2,)) * x

        @jax.jit
        def program(key, flag, seed):
            keys = random.split(key, 3)
            branch = lax.cond(flag, lambda k: random.split(k)[0], lambda k: k, key)
            looped = lax.fori_loop(0, 3, lambda i, k: random.fold_in(k, i), key)
            inner = jax.jit(lambda s: random.bits(random.key(s, impl=impl)))(seed)
            chosen = jnp.where(jnp.array([True, False, True]), keys, keys[::-1])
            flagged = jax.vmap(
                lambda f, k: lax.cond(f, lambda k: random.split(k)[1], lambda k: k, k)
            )
            return (
                lax.scan(step, key, jnp.arange(3.0)), branch, looped, inner, chosen,
                flagged(jnp.array([True, False, True]), keys), random.bits(outer), key,
            )  # fmt: skip

        return program(random.key(3, impl=impl), True, 4)

    check(case)


def test_structure():
    def case(jax, jnp):
        lax, random = jax.lax, jax.random
        key = random.key(0, impl="rbg")
        keys = random.split(key, (2, 3))
        return (
            [keys[0], keys[1, 2], keys[:, 1], keys[..., ::2], keys[jnp.array([1, 0, 1])], keys.T],
            [
                keys.reshape(6),
                keys.at[0, 1].set(key),
                jnp.stack([keys, keys], 1),
                jnp.roll(keys, 1),
            ],
            [jnp.concatenate([keys, keys]), jnp.broadcast_to(key, (2, 2)), jnp.repeat(keys, 2, 0)],
            [jnp.full((2,), key), jnp.full_like(keys, key), jnp.zeros_like(keys), keys.copy()],
            [
                jnp.zeros((2,), keys.dtype),
                jnp.ones((2,), keys.dtype),
                jnp.full((2,), 3, keys.dtype),
            ],
            [lax.dynamic_slice(keys, (0, 1), (2, 2)), lax.dynamic_index_in_dim(keys, 1, 1)],
            [keys == keys, keys == key, keys != keys[0], list(keys[0])],
            random.wrap_key_data(random.key_data(keys), impl="rbg"),
        )

    check(case)


@pytest.mark.parametrize("make", (jnp.zeros_like, jnp.ones_like, jnp.empty_like))
def test_filled_keys_of_the_default(make):
    keys = make(random.split(random.key(0), 3))
    value = 1 if make is jnp.ones_like else 0
    assert np.array_equal(random.key_data(keys), np.full((3, 2), value))


@same
def raw_keys(jax, jnp):
    with jax.default_prng_impl("rbg"):
        key = jax.random.PRNGKey(4)
        return key, jax.random.split(key), jax.random.bits(key, (3,)), jax.random.key(2)


@same
def not_partitionable(jax, jnp):
    with jax.threefry_partitionable(False):
        key = jax.random.key(1, impl="rbg")
        return jax.random.split(key, (2, 2)), jax.jit(jax.random.split)(key)


@same
def wide_numbers(jax, jnp):
    with jax.enable_x64(True):
        return [
            (key, jax.random.bits(key, (3,), "uint64"))
            for key in [jax.random.key(2**40 + 5, impl=i) for i in ("rbg", *NAMES[2:])]
        ]


@same
def derivatives(jax, jnp):
    key = jax.random.key(0, impl="rbg")

    def loss(x, key):
        return (jax.random.uniform(key, (3,)) * jnp.sin(x)).sum()

    keys = jax.random.split(key, 2)
    return (
        jax.grad(loss)(2.0, key),
        jax.jit(jax.grad(jax.checkpoint(loss)))(2.0, key),
        jax.grad(lambda x: jax.lax.scan(lambda c, k: (c + loss(x, k), None), x, keys)[0])(
            jnp.float32(2)
        ),
    )


@same
def keys_of_two_generators(jax, jnp):
    return jax.random.key(0) == jax.random.key(0, impl="rbg")


@pytest.mark.parametrize("impl", ("rbg", "philox4x32"))
def test_samplers_compiled_and_not(impl):
    key = random.key(3, impl=impl)

    def draw(key):
        return (
            random.normal(key, (3,)), random.gamma(key, jnp.array([0.5, 2.0, 30.0])),
            random.binomial(key, 9, 0.4, (3,)), random.choice(key, 9, (4,), replace=False),
        )  # fmt: skip

    for x, y in zip(draw(key), jitney.jit(draw)(key), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)
    assert len(set(np.asarray(random.gamma(key, 2.0, (50,))).tolist())) == 50


def test_gamma_numbers_are_those_of_jax():
    def case(jax, jnp):
        return jax.random.gamma(jax.random.key(0, impl="rbg"), jnp.array([0.5, 2.0, 30.0]))

    check(case)


def test_draws_call_no_python():
    key = random.key(0, impl="rbg")
    text = jitney.jit(lambda key: random.normal(key, (8,))).lower(key).as_text("kernels")
    assert "launch" in text and "call" not in text


# --- users' own -----------------------------------------------------------------------------------


def own_generator(jax, jnp, **functions):
    """A poor generator with keys of shape [1, 3]."""
    random = jax.random
    define = importlib.import_module(f"{jax.__name__}.extend.random").define_prng_impl
    rules = {
        "seed": lambda seed: jnp.full((1, 3), seed, "uint32") + jnp.arange(3, dtype="uint32"),
        "split": lambda key, shape: key + jnp.arange(
            np.prod(shape), dtype="uint32").reshape(*shape, 1, 1),
        "random_bits": lambda key, width, shape: (
            key[0, 1] * jnp.uint32(77) + random.bits(random.key(key[0, 0]), shape)
        ).astype(f"uint{width}"),
        "fold_in": lambda key, number: key ^ number,
    }  # fmt: skip
    return define(key_shape=(1, 3), **(rules | functions), tag="own")


@same
def own(jax, jnp):
    impl = own_generator(jax, jnp)
    random, lax = jax.random, jax.lax
    key = random.key(11, impl=impl)
    keys = random.split(key, (2, 3))

    def step(key, _):
        key, sub = random.split(key)
        return key, random.uniform(sub, (2,))

    results = (
        key, keys, random.fold_in(key, 3), random.bits(key, (3,), "uint8"), keys[0, 1:],
        jax.vmap(lambda k: random.uniform(k, (2,)))(keys[0]),
        jax.jit(lambda key: lax.scan(step, key, None, length=3))(key),
        random.wrap_key_data(random.key_data(keys), impl=impl),
        random.key(2, impl=random.key_impl(keys)),
    )  # fmt: skip
    return data_of(jax, results), str(key.dtype), str(random.key_impl(key)), repr(key)


WRONG = {
    "seed": (lambda seed: jnp.zeros((2,), "uint32"), lambda key: random.key(1, impl=key)),
    "split": (lambda key, shape: key, lambda impl: random.split(random.key(1, impl=impl))),
    "fold_in": (
        lambda key, number: key.astype("int32"),
        lambda impl: random.fold_in(random.key(1, impl=impl), 1),
    ),
    "random_bits": (
        lambda key, width, shape: jnp.zeros(shape, "uint32"),
        lambda impl: random.bits(random.key(1, impl=impl), (2,), "uint8"),
    ),
}


@pytest.mark.parametrize("function", WRONG)
def test_functions_that_return_something_else(function):
    wrong, use = WRONG[function]
    impl = own_generator(jitney, jnp, **{function: wrong})
    with pytest.raises(TypeError, match=r"the data of keys|must return"):
        use(impl)


def test_own_generators_have_no_name():
    rest = dict.fromkeys(("split", "random_bits", "fold_in"))
    impl = define_prng_impl(key_shape=(1,), seed=lambda s: jnp.zeros(1, "uint32"), **rest, name="x")
    assert random.key(1, impl=impl).dtype.name == "key<?>"
    with pytest.raises(ValueError, match="no PRNG implementation is named"):
        random.key(1, impl="x")


# --- jax.extend.random, lax.rng_bit_generator -----------------------------------------------------


@same
def extend_random(jax, jnp):
    module = importlib.import_module(f"{jax.__name__}.extend.random")
    pair = (np.uint32(1), np.uint32(9))
    return (
        module.random_seed(np.arange(6).reshape(2, 3), module.rbg_prng_impl),
        module.seed_with_impl(module.unsafe_rbg_prng_impl, 3),
        module.random_seed(3, module.threefry_prng_impl),
        [module.threefry_2x32(pair, np.arange(n, dtype=np.uint32)) for n in (1, 5, 6)],
        module.threefry_2x32(np.array(pair), np.arange(6, dtype=np.uint32).reshape(2, 3)),
        str(module.rbg_prng_impl),
    )


# Shapes whose Threefry words are paired off along the first axis, another one, a padded one.
SHAPES = ((), (0,), (5,), (3, 4, 2), (3, 5), (5, 1, 3))
STATES = ((1, 2, 3, 4), (7, 2**32 - 1, 2**32 - 2, 2**32 - 1))  # the other one's counter overflows


@pytest.mark.parametrize("state", STATES)
def test_rng_bit_generator(state):
    def case(jax, jnp):
        key = np.array(state, np.uint32)
        draw, algorithm = jax.lax.rng_bit_generator, jax.lax.RandomAlgorithm
        out = [draw(key, shape, algorithm=algorithm.RNG_THREE_FRY) for shape in SHAPES]
        out += [draw(key, (13,), dtype) for dtype in ("uint8", "uint16", "uint32")]
        with jax.enable_x64(True):
            out += [draw(key, (3,), "uint64", algorithm=a) for a in algorithm]
            out += [draw(key.view(np.uint64), (3,), "uint64")]
        return out

    check(case)


@same
def rng_bit_generator_in_programs(jax, jnp):
    keys = np.arange(8, dtype=np.uint32).reshape(2, 4)

    def draw(key):
        return jax.lax.rng_bit_generator(key, (6,))

    text = str(jax.make_jaxpr(draw)(keys[0]))
    return jax.vmap(draw)(keys), jax.vmap(draw, in_axes=1, out_axes=1)(keys.T), text


@pytest.mark.parametrize(
    ("key", "dtype", "message"),
    [
        (np.arange(3, dtype=np.uint32), "uint32", r"key must be uint32\[4\]"),
        (np.arange(4, dtype=np.int32), "uint32", r"but got int32\[4\]"),
        (np.arange(4, dtype=np.uint32), "int8", "unsupported dtype int8"),
    ],
)
def test_rng_bit_generator_refuses(key, dtype, message):
    with pytest.raises(TypeError, match=message):
        lax.rng_bit_generator(key, (2,), dtype)


@pytest.mark.parametrize("case", same.all, ids=same.ids)
def test_same(case):
    check(case)
