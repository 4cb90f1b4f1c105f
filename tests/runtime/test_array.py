"""Arrays as objects: text, conversions, buffers, copies, operators with NumPy; against real jax."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest
from tests.helpers.both import Cases, check, describe, of_both
from tests.helpers.oracle import agree, answer, jax

import jitney
import jitney.numpy as jtnp

same = Cases()

# Expressions of x, a float32[3]; m, an int32[2, 3]; s, a weak float scalar; i, an int32 scalar; b,
# bool[2]; c, complex64[2]; e, float32[0, 3]; h, bfloat16[2]; k, a key; n, an ndarray as x.
EXPRESSIONS = """
str(x); repr(x); str(m); repr(m); str(s); repr(s); repr(i); str(i); repr(b); repr(c); repr(e)
repr(h); repr(k); str(k); str(e); str(b); f"{x}"; f"{s}"; f"{s:.3f}"; f"{i:04d}"; f"{x:.2f}"
format(m); f"{k}"; format(i, 'x'); f"{c[0]}"; f"{b[0]}"; f"{h[0]}"; f"{h[0]:.2f}"; "%d" % i
"%.2f" % s; "%s" % (x,); x[0] = 1; m[0, 0] = 2; del x[0]; x.foo; x.shape = (3, 1); hash(x); {x: 1}
{s}; x.T.foo; len(x); len(m); len(s); len(e); list(x); list(m)[1]; list(s); list(e)
iter(x) is None; list(iter(b)); [float(v) for v in x]; tuple(m); list(reversed(x)); next(iter(m))
[*c]; dict(zip('abc', x)); list(k); bool(s); bool(i); bool(x); bool(e); bool(x[:1]); bool(b[0])
bool(m[:1, :1]); bool(c[0]); not s; int(s); int(i); int(x); int(x[:1]); int(c[0]); int(b[0])
int(x[2]); int(h[0]); float(s); float(i); float(x); float(x[:1]); float(c[0]); float(h[1])
complex(s); complex(c[1]); complex(x); complex(i); range(5)[i]; [1, 2, 3][i]; [1, 2, 3][s]
[1, 2, 3][b[0]]; i.__index__(); x.__index__(); hex(i); oct(i); bin(i); hex(s); oct(x); round(s)
round(s, 1); abs(i); divmod(i, 2); pow(i, 2); sum(x); max(x); min(x); 'abc'[i]; 'ab' * i; [0] * i
np.arange(5)[i]; np.arange(5)[i:]; list(range(i)); slice(i).indices(5); s + 1; 1 + s; -s; +x; ~i
x + x; x - n; n - x; n + x; n * x; n @ x; x @ n; m @ x; m @ n; n / x; n // x; n ** x; n % x
n == x; n < x; n != x; n >= x; np.float32(2) * x; x * np.float32(2); np.float64(2) * x
x * np.float64(2); np.int64(2) * x; np.int8(1) + i; i + np.int8(1); np.float16(1) + i; 2.5 + i
i + 2.5; True + i; 1j + x; x + 1j; x + [1, 2, 3]; [1, 2, 3] + x; x + 'a'; x + None; None + x
x == None; x != 'a'; x == [1, 2, 3]; (1,) + x; x * (1, 2, 3); np.add(x, n); np.add(x, x)
np.sin(x); np.multiply(n, x); np.sum(x); np.dot(n, x); np.where(n > 0, x, n)
np.concatenate([x, n]); np.stack([x, x]); np.max(m); np.asarray(x); np.array(x)
np.asarray(x, dtype='int64'); np.array(x, dtype='float16'); np.asarray(h); np.asarray(k)
np.asarray(s); np.asarray(e); np.asarray(x, dtype=object); np.array([x, x]); np.array([s, s])
np.float32(s); np.int64(i); np.isscalar(s); np.shape(m); np.ndim(m); np.size(m); np.result_type(x)
np.asarray(x) is np.asarray(x); np.asarray(x).flags.writeable; np.array(x).flags.writeable
np.asarray(x, copy=True).flags.writeable; np.asarray(x, copy=False).flags.writeable
np.asarray(x, dtype='float64', copy=False); np.shares_memory(np.asarray(x), np.asarray(x))
x.__array__(); x.__array__('int32'); x.__array__(copy=True)
x.__array__(dtype=np.float64, copy=None); x.__array_priority__; x.__array_namespace__() is None
memoryview(x).shape; memoryview(x).readonly; bytes(i); bytes(x); bytearray(m)
memoryview(b).format; memoryview(m.T).shape; bytes(b); np.frombuffer(x, 'float32'); memoryview(h)
memoryview(k); bytes(e); memoryview(i).ndim; np.from_dlpack(x); np.from_dlpack(m.T)
np.from_dlpack(s); np.from_dlpack(e); np.from_dlpack(i); np.from_dlpack(x).flags.writeable
x.__dlpack_device__()[1]; jnp.from_dlpack(n); jnp.from_dlpack(np.arange(3)); jnp.from_dlpack(x)
jnp.from_dlpack(x) is x; jnp.from_dlpack(h, copy=False)
jnp.from_dlpack(np.arange(6).reshape(2, 3).T); jnp.from_dlpack([1])
jnp.from_dlpack(n, copy=True); x.block_until_ready() is x; x.copy_to_host_async(); x.is_deleted()
x.is_ready(); x.devices() == {x.device}; x.sharding.device_set == x.devices(); x.committed
x.is_fully_addressable; x.is_fully_replicated; x.addressable_shards[0].data; x.addressable_data(0)
len(x.global_shards); x.platform(); x.nbytes; x.itemsize; x.size; x.ndim; m.shape; x.weak_type
s.weak_type; str(x.aval); x.on_device_size_in_bytes(); type(x.unsafe_buffer_pointer()); x.tolist()
m.tolist(); s.tolist(); x.item(); x.item(1); m.item(1, 2); s.item(); i.item(); b.tolist()
c.tolist(); h.tolist(); e.tolist(); m.item(7); k.shape; k.ndim; k.size; x.tobytes()
m.tobytes('F'); m.T.tobytes(); x.copy() is x; x.astype('float32') is x; x.copy(); copy.copy(x)
copy.deepcopy(x); copy.copy(x) is x; copy.deepcopy([x, s]); copy.deepcopy(k); copy.copy(k)
pickle.loads(pickle.dumps(x)); pickle.loads(pickle.dumps(s)); pickle.loads(pickle.dumps(h))
jax.device_get(x); pickle.loads(pickle.dumps({'a': m, 'b': [i]}))
jax.device_get({'a': x, 'b': 1, 'c': n}); jax.device_get(s); jax.device_put(n)
jax.device_put([1, 2.0, None, n]); jax.device_put('a'); jax.device_put(x) is x
jax.device_put(np.arange(3)); jax.device_put(1); jax.device_put(k)
jax.block_until_ready([x, 1]) is None; isinstance(x, jax.Array); isinstance(k, jax.Array)
isinstance(n, jax.Array); isinstance(x, np.ndarray); isinstance(s, float); jax.Array(1)
type(x).__name__; type(x).__module__; x.T is x; 1 < s; 1 < s < 3; 0 < x < 3; x in [x]; 1.0 in x
5 in x; x in x; x is x; x and 1; s and 1; s or 1; x.real; c.real; c.imag; x.at; x.flat; k + 1
k == k; k[None].shape; k.dtype == k.dtype; -k; k.T.shape; sorted(x)[0]; any(b); all(b); x.conj()
c.conj(); x.view('int32'); m.T; np.copy(x); np.zeros_like(x); np.testing.assert_allclose(x, n)
np.allclose(x, n); np.array_equal(x, n); x.__setitem__(0, 1); x.sum; x.__reduce__()[0] is None
x.__copy__(); x.__round__(); x.clone() is x; x.__len__(); x.__bool__()
"""

CASES = [e.strip() for line in EXPRESSIONS.strip().splitlines() for e in line.split("; ")]
# Texts that NumPy 2.0 formats otherwise than the version of the records.
FORMATTED_OTHERWISE = {
    'f"{h[0]:.2f}"',
    "jnp.array(1e10)",
    "jnp.arange(60.0).reshape(6, 10) * 1e5",
}


def names(jax, jnp):
    n = np.arange(3, dtype=np.float32)
    return {
        "jax": jax, "jnp": jnp, "np": np, "copy": copy, "pickle": pickle, "n": n,
        "x": jnp.arange(3.0), "m": jnp.arange(6).reshape(2, 3), "s": jnp.asarray(1.5),
        "i": jnp.int32(2), "b": jnp.array([True, False]), "c": jnp.array([1 + 2j, 3j]),
        "e": jnp.zeros((0, 3)), "h": jnp.array([1.5, 2], jnp.bfloat16), "k": jax.random.key(7),
    }  # fmt: skip


@pytest.mark.parametrize("code", CASES)
def test_expression(code):
    def case(jax, jnp):
        scope = names(jax, jnp)
        if re.match(r"del |[^=]+ = ", code):
            return exec(code, scope)
        return eval(code, scope)

    check(case, formatted=code in FORMATTED_OTHERWISE)


TEXTS = """
jnp.arange(100); jnp.arange(2000); jnp.arange(3.0) / 7; jnp.ones((3, 4)); jnp.ones((2, 3, 4))
jnp.zeros((0,)); jnp.zeros((0, 3)); jnp.zeros((3, 0, 2)); jnp.arange(60.0).reshape(6, 10) * 1e5
jnp.array(1); jnp.asarray(1); jnp.asarray(1.5); jnp.asarray(True); jnp.array(1e10)
jnp.array(float('nan')); jnp.array([1e-10, 1e10]); jnp.array([float('inf'), 1.0])
jnp.array([1 + 2j, 3.5 - 1e-3j]); jnp.asarray(2j); jnp.array([True, False])
jnp.array([[True], [False]]); jnp.ones(3, jnp.bfloat16); jnp.ones((), jnp.bfloat16)
jnp.arange(3, dtype='int8'); jnp.arange(3, dtype='uint8'); jnp.ones(2, 'float16')
jnp.ones(2, jnp.float8_e4m3fn); jnp.arange(3, dtype=jnp.int4); jnp.asarray(1.0) * jnp.ones(())
jnp.full((3,), 2); jnp.full((2, 2), 1.5); jnp.broadcast_to(jnp.asarray(1.0), (4,))
jnp.broadcast_to(1, (30,)); jnp.broadcast_to(1.5, (3, 3)); jnp.ones((200, 200))
jnp.arange(17) * 12345; jnp.arange(12).reshape(3, 4) * 1.1; jnp.arange(1001)
jnp.ones((1, 1, 1, 1)); -jnp.arange(20.0); jnp.arange(24.0).reshape(2, 3, 4); jnp.ones(40, bool)
jax.random.key(0); jax.random.split(jax.random.key(0), 3)
jax.random.split(jax.random.key(1), (2, 2)); jnp.ones((2, 0)); jnp.zeros((50, 0))
jnp.arange(6).reshape(1, 6) * 10**8; jnp.array([[1e-8, 1], [2, 3e8]]); jnp.ones((30, 3), 'int8')
jnp.arange(8) * (1 + 1j); jnp.array([0.1, 0.25, 1 / 3]); jnp.arange(-5, 5); jnp.ones(19)
jnp.ones(20); jnp.ones(18); jnp.ones(14, jnp.bfloat16); jnp.ones(15, jnp.bfloat16); jnp.arange(21)
jnp.arange(22); jnp.arange(23); jnp.arange(24)
"""
TEXT_CASES = [e.strip() for line in TEXTS.strip().splitlines() for e in line.split("; ")]
OPTIONS = [{}, {"precision": 2}, {"threshold": 5, "edgeitems": 1}, {"linewidth": 40},
           {"suppress": True}, {"linewidth": 200}]  # fmt: skip


@pytest.mark.parametrize("code", TEXT_CASES)
def test_text(code):
    def case(jax, jnp):
        x = eval(code, {"jax": jax, "jnp": jnp})
        texts = []
        for options in OPTIONS:
            with np.printoptions(**options):
                texts += [repr(x), str(x)]
        return texts

    check(case, formatted=code in FORMATTED_OTHERWISE)


# --- longer ones --------------------------------------------------------------------------------


@same
def in_place_operators(jax, jnp):
    x = y = jnp.arange(3.0)
    x += 1
    x *= 2
    x -= np.ones(3, np.float32)
    x /= 2
    x //= 1
    x **= 2
    x @= jnp.eye(3)
    return x, y


@same
def in_place_with_numpy_on_the_left(jax, jnp):
    n = np.ones(3, np.float32)
    old = n
    n += jnp.arange(3.0)
    return type(n).__name__, n, old, n is old


@same
def integers_in_place(jax, jnp):
    x = jnp.arange(3)
    x <<= 1
    x |= 1
    x ^= 2
    x &= 7
    x >>= 1
    x %= 2
    return x


@same
def numpy_slots_take_arrays(jax, jnp):
    n = np.zeros(3, np.float32)
    n[:] = jnp.arange(3.0)
    n[1] = jnp.float32(7)
    out = np.empty(3, np.float32)
    np.add(jnp.ones(3), 1, out=out)
    return n, out


@same
def arrays_of_users_objects(jax, jnp):
    class Like:
        def __jax_array__(self):
            return jnp.arange(3.0)

    return jnp.ones(3) + Like(), jnp.asarray(Like()), jnp.array(Like())


@same
def operands_with_methods_of_their_own(jax, jnp):
    class Other:
        def __radd__(self, other):
            return "radd"

        def __mul__(self, other):
            return "mul"

        def __rmatmul__(self, other):
            return "rmatmul"

        def __lt__(self, other):
            return "lt"

    x, o = jnp.ones(2), Other()
    return x + o, o * x, x @ o, x > o


@same
def iteration_gives_arrays(jax, jnp):
    return [(type(v).__name__, v) for v in jnp.arange(3)], [v.shape for v in jnp.ones((2, 3))]


@same
def data_stay_when_the_array_goes(jax, jnp):
    x = jnp.arange(4.0)
    v, view = np.asarray(x), memoryview(x)
    del x
    return v, view.tobytes()


@same
def source_may_change(jax, jnp):
    n = np.arange(3, dtype=np.float32)
    made = [jnp.asarray(n), jnp.array(n), jax.device_put(n.copy()), jnp.from_dlpack(n) + 0]
    made += [jax.jit(lambda v: v)(n), jnp.ravel(n) + 0, jnp.array([n, n])]
    n[:] = 9
    return made[1], made[2], made[4:]


@same
def result_of_numpy_may_be_written(jax, jnp):
    n = np.array(jnp.arange(3))
    n[0] = 5
    return n


@same
def result_of_asarray_may_not(jax, jnp):
    n = np.asarray(jnp.arange(3))
    n[0] = 5


@same
def x64_arrays(jax, jnp):
    with jax.enable_x64(True):
        x = jnp.arange(3.0)
        y = pickle.loads(pickle.dumps(x))
    return repr(x), repr(y), x + 1, np.asarray(x)


def readable(x):
    """The public names that can be read of `x`."""
    found = set()
    for name in dir(x):
        try:
            if name[0] != "_":
                getattr(x, name)
                found.add(name)
        except Exception:  # what cannot be read does not count
            continue
    return found


def public_names(x):
    return [name for name in dir(x) if name[0] != "_"]


def test_tracers_have_what_arrays_have():
    """Whatever of an array's public names means something for a tracer is there."""

    def found(j):
        seen = []
        j.jit(lambda x: seen.append(readable(x)))(j.numpy.ones(2))
        return sorted(seen[0])

    own, real = map(set, of_both(found))
    assert real - own <= {
        "aval_mutable_qdd", "cur_qdd", "dimension_as_value", "get_const", "mutable_qdd", "parent",
        "to_device",
    }  # fmt: skip


def test_arrays_have_what_arrays_have():
    missing = set(answer(lambda: public_names(jax.numpy.ones(2)))) - set(dir(jtnp.ones(2)))
    assert missing <= {"device_buffer", "device_buffers", "unsafe_raw_buffer"}, missing


def test_keys_have_what_keys_have():
    missing = set(answer(lambda: public_names(jax.random.key(0)))) - set(dir(jitney.random.key(0)))
    assert missing <= {"pprint"}, missing


@pytest.mark.parametrize("case", same.all, ids=same.ids)
def test_same(case):
    check(case)


def test_describe_tells_weak_types_apart():
    assert not agree(describe(jtnp.asarray(1)), describe(jtnp.int32(1)))
