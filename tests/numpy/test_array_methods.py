"""Operators, methods and properties of arrays: the same expressions with real jax and with jitney."""

import inspect
import warnings

import numpy as np
import pytest
from tests.helpers.oracle import Raised, Value, of_jax

import jitney
import jitney.numpy as jtnp

OPERATORS = """
v + 1; 1 - v; v * 2.5; v / 2; v // 2; v % 2; divmod(v, 2); divmod(7, v + 1); v ** 2; 2 ** v
v << 1; 1 << v; v >> 1; v & 1; v | 4; v ^ 1; ~v; -v; +v; abs(-v); v @ v; x @ x.T
v == 1; v != 1; v < 1; v <= 1; v > 1; v >= 1; v == None; v == 'a'; v != 'a'; x == x
v + np.ones(3); np.ones(3) + v; np.float32(1) + v; v + True; v + 1j; x - v; v.astype('uint8') >> 1
round(x[0, 0] + 1.26, 1); round(x[0, 0] + 1.5); round(v); 1 in v; 9 in v
v.__add__('a') is NotImplemented; x ** 2; x ** -1; x ** 0.5; x // 2; x % 2; x.astype('bool') & True
"""

METHODS = """
v.T; x.T; x.mT; v.real; v.imag; x.astype('int8'); v.astype('complex64'); v.astype(None)
v.view('float32'); v.view(); x.view('int8'); x.astype('complex64').view('float32'); v.view(bool)
v.reshape(1, 3); v.reshape((3, 1)); v.reshape(-1); x.reshape(3, -1, order='F'); x.ravel()
x.flatten(order='F'); v.transpose(); x.transpose(1, 0); x.transpose((1, 0)); x.transpose(None)
x.swapaxes(0, 1); x[None].squeeze(); v.byteswap(); v.copy(); v.clip(1, 2); x.clip(1)
v.repeat(2); v.take(np.array([0, 2])); v.take(np.array([0, 5])); v.take(np.array([-1]), mode='clip')
v.choose([v, v + 1, v + 2]); x.compress(np.array([True, False]), axis=0); v.nonzero()
x.diagonal(); x.trace(); v.dot(v); v.ptp(); x.ptp(axis=0); x.round(1); v.searchsorted(1)
x.sum(); x.sum(axis=0); x.mean(); x.mean(axis=1, keepdims=True); x.max(); x.min(axis=-1); x.prod()
x.std(); x.var(ddof=1); v.all(); v.any(); v.argmax(); x.argmin(axis=1, keepdims=True)
x.cumsum(); x.cumprod(axis=1); v.sort(); v.argsort(descending=True); v.argpartition(1)
v.conj(); v.conjugate(); list(v); list(x); list(reversed(v)); v.nbytes; v.itemsize; v[0].item()
v.at[0].set(5).at[1].add(2); x.at[0].apply(lambda e: e + 1)
"""

ERRORS = """
v + [1, 2, 3]; [1, 2, 3] + v; v + (1,); v == [0, 1, 2]; v + 'a'; v + None; v + object(); v < 'a'
v @ [1, 2, 3]; v & 1.5; ~x; v in v; v.flat; v.mT; v.reshape(2); x.transpose(1, 0, 2); v.foo
v.__array_namespace__(api_version='2020'); iter(v[0]); v.take(np.array([0]), mode='raise'); hash(v)
v.compress([True]); v.diagonal(); v.item(); bool(v); v.view('int64x'); v[0].view('int8')
"""


def expressions(text):
    return [e.strip() for line in text.strip().split("\n") for e in line.split(";")]


def evaluated(expression, numpy):
    names = {
        "np": np,
        "v": numpy.arange(3),
        "x": numpy.arange(6, dtype=numpy.float32).reshape(2, 3),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(expression, names)


def check_same(ours, theirs):
    if isinstance(theirs, tuple | list):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            check_same(a, b)
    elif isinstance(theirs, Value):
        assert isinstance(ours, jitney.Array)
        assert ours.shape == theirs.shape
        assert np.dtype(ours.dtype) == np.dtype(theirs.dtype)
        assert ours.weak_type == theirs.weak_type
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=2e-6)
    else:
        assert ours == theirs


@pytest.mark.parametrize("expression", expressions(OPERATORS) + expressions(METHODS))
def test_same_value(expression):
    theirs = of_jax(lambda j: evaluated(expression, j.numpy))
    check_same(evaluated(expression, jtnp), theirs)


@pytest.mark.parametrize("expression", expressions(ERRORS))
def test_same_error(expression):
    theirs = of_jax(lambda j: (evaluated(expression, j.numpy), "no error")[1])
    assert isinstance(theirs, Raised)
    with pytest.raises(Exception) as ours:
        evaluated(expression, jtnp)
    assert theirs.name in [c.__name__ for c in ours.type.__mro__]


class Converted:
    def __jax_array__(self):
        return jtnp.ones(3)


class Asked:
    """Knows about arrays; they do not know about it."""

    def __radd__(self, other):
        return "radd"


def test_other_operands():
    v = jtnp.arange(3)
    check_same((v + Converted()).tolist(), [1.0, 2.0, 3.0])
    check_same((Converted() + v).tolist(), [1.0, 2.0, 3.0])
    assert v + Asked() == "radd"


def test_methods_of_tracers():
    def fun(x):
        return x.sum() + x.T[0].max() - x.at[0].set(1.0).mean() + x.reshape(-1)[1]

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    check_same(jitney.jit(fun)(x), of_jax(lambda j: j.jit(fun)(x)))


def test_methods_are_those_of_jax():
    theirs = set(of_jax(lambda j: [n for n in dir(j.numpy.arange(3)) if not n.startswith("_")]))
    ours = set(dir(jtnp.arange(3)))
    internal = {"device_buffer", "device_buffers", "clone", "platform", "traceback"}
    internal |= {"unsafe_raw_buffer"}  # a view of XLA's memory
    assert theirs - ours - internal == set()


PROTOCOLS = ["__array__", "__array_namespace__", "__dlpack__", "__dlpack_device__"]
HIDDEN = [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]


def parameters(j):
    """Returns the name, kind and default of the parameters of methods that do not hide them."""
    array_type = type(j.numpy.arange(3))
    found = {}
    for name in [*PROTOCOLS, *dir(array_type)]:
        if name[0] != "_" or name in PROTOCOLS:
            try:
                each = inspect.signature(getattr(array_type, name)).parameters.values()
            except (AttributeError, TypeError, ValueError):
                continue
            if [p.kind for p in each] != HIDDEN:
                found[name] = [(p.name, int(p.kind), repr(p.default)) for p in each]
    return found


def test_methods_have_the_parameters_of_jax():
    theirs, ours = of_jax(parameters), parameters(jitney)
    assert len(theirs) > 50
    assert {name: ours[name] for name in theirs} == theirs


def test_arguments_of_array():
    x = jtnp.arange(3, dtype=np.float32)
    assert x.__array__(np.int32, None, True).dtype == np.int32
    assert x.__array__(context=None, copy=True).flags.writeable
    assert np.shares_memory(x.__array__(copy=False), np.asarray(x))
    with pytest.raises(ValueError, match="requires a copy"):
        x.__array__(np.int32, copy=False)


def test_arguments_of_dlpack():
    x = jtnp.arange(3, dtype=np.float32)
    x.__dlpack__(stream=None, max_version=(1, 0), dl_device=(1, 0), copy=None)
    for unknown in ({"other": 1}, {"max_versions": (1, 0)}):
        with pytest.raises(TypeError, match="unexpected keyword"):
            x.__dlpack__(**unknown)
    with pytest.raises(TypeError, match="positional"):
        x.__dlpack__(None)
    with pytest.raises(BufferError, match="cannot be exported to device"):
        x.__dlpack__(dl_device=(2, 0))
    for version in (None, (1, 0)):
        exported = (_Exported(x, max_version=version, copy=copy) for copy in (None, False, True))
        shared = [np.shares_memory(np.from_dlpack(e), np.asarray(x)) for e in exported]
        assert shared == [True, True, False]


class _Exported:
    """Hands NumPy what an array exports with the given options; NumPy 2.0 passes none itself."""

    def __init__(self, array, **options):
        self.array, self.options = array, options

    def __dlpack__(self, **_):
        return self.array.__dlpack__(**self.options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
