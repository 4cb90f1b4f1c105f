"""Functions on positions against real jax: the same expressions, the same values or errors."""

import re

import numpy as np
import pytest
from tests.helpers.oracle import Raised, Value, of_jax

import jitney
import jitney.numpy as jtnp

EXPRESSIONS = """
jnp.take(x,jnp.array([0,5,-1,-20]))
jnp.take(x,[0,1])
jnp.take(x,1,axis=0)
jnp.take(x,jnp.array([[0,1],[2,9]]),axis=1)
jnp.take(x,jnp.array([[0,1],[2,9]]),axis=1,mode='clip')
jnp.take(x,jnp.array([-1,1]),axis=1,mode='clip')
jnp.take(x,jnp.array([-1,7]),axis=1,mode='wrap')
jnp.take(x,jnp.array([-1,7]),axis=1,mode='fill',fill_value=3)
jnp.take(x,jnp.array([1.]),axis=1)
jnp.take(x,jnp.array([0]),axis=2)
jnp.take(jnp.zeros((0,3)),jnp.array([0]),axis=0)
jnp.take(jnp.zeros((0,3)),jnp.array([],int),axis=0)
jnp.take(x,jnp.array([0]),mode='foo')
jnp.take(x,jnp.array([0]),out=3)
jnp.take(v,jnp.array([True]))
jnp.take(v,jnp.array([True]),mode='clip')
jnp.take(v,jnp.array([True]),mode='wrap')
jnp.take_along_axis(x,jnp.array([[0],[1],[7]]),axis=1)
jnp.take_along_axis(x,jnp.array([[0,1,2,-1]]),axis=0)
jnp.take_along_axis(x,jnp.array([0,20]),axis=None)
jnp.take_along_axis(x,jnp.array([0,20]),axis=0)
jnp.take_along_axis(x,jnp.array([[0.]]),axis=0)
jnp.take_along_axis(jnp.ones((1,4)),jnp.zeros((3,2),int),axis=1)
jnp.take_along_axis(x,jnp.zeros((2,2),int),axis=1)
jnp.take_along_axis(x,jnp.array([[0],[1],[7]]),axis=1,mode='clip')
jnp.take_along_axis(x,jnp.array([[0],[1],[7]]),axis=1,mode='fill',fill_value=-1)
jnp.take_along_axis(x,jnp.array([[0],[1],[7]]),axis=1,mode='one_hot')
jnp.take_along_axis(x,jnp.array([[-1],[1],[7]]),axis=1,wrap_negative_indices=False)
jnp.take_along_axis(x,[[0]],axis=1)
jnp.put(v,jnp.array([0,2]),7)
jnp.put(v,jnp.array([0,2]),7,inplace=False)
jnp.put(v,jnp.array([0,2,9,-1,-9]),jnp.array([7,8]),inplace=False)
jnp.put(v,jnp.array([0,2,9,-1,-9]),jnp.array([7,8]),mode='clip',inplace=False)
jnp.put(v,jnp.array([0,2,9,-1,-9]),jnp.array([7,8]),mode='wrap',inplace=False)
jnp.put(v,jnp.array([0,2,9,-1,-9]),jnp.array([7,8]),mode='raise',inplace=False)
jnp.put(x,jnp.array([0,9]),jnp.array([7,8]),inplace=False)
jnp.put(v,[0,2],[7,8,9],inplace=False)
jnp.put_along_axis(x,jnp.array([[0],[1],[2]]),9.,axis=1,inplace=False)
jnp.put_along_axis(x,jnp.array([[0],[1],[2]]),9.,axis=1)
jnp.put_along_axis(x,jnp.array([0,1]),jnp.array([5.,6.]),axis=None,inplace=False)
jnp.nonzero(v)
jnp.nonzero(x>5)
jnp.nonzero(x>5,size=8)
jnp.nonzero(x>5,size=8,fill_value=-1)
jnp.nonzero(x>5,size=8,fill_value=(-1,-2))
jnp.nonzero(x>5,size=3)
jnp.nonzero(jnp.float32(3))
jnp.nonzero(jnp.float32(3),size=2)
jnp.nonzero([1,0])
jnp.nonzero(jnp.zeros((0,3)))
jnp.flatnonzero(x>5)
jnp.flatnonzero(x>5,size=9,fill_value=-1)
jnp.argwhere(x>5)
jnp.argwhere(x>5,size=7,fill_value=-1)
jnp.argwhere(jnp.float32(3))
jnp.argwhere(jnp.float32(0))
jnp.where(x>5)
jnp.where(x>5,size=3)
jnp.extract(x>5,x)
jnp.extract(x>5,x,size=8)
jnp.extract(x>5,x,size=8,fill_value=-3)
jnp.compress(jnp.array([True,False,True]),x,axis=0)
jnp.compress(jnp.array([True,False,True]),x)
jnp.compress(jnp.array([True,False]),x,axis=1)
jnp.compress(jnp.array([True,False,True,False,False]),x,axis=1)
jnp.compress(jnp.array([True,False,True,False,True]),x,axis=1)
jnp.compress(jnp.array([True,False,True]),x,axis=0,size=3,fill_value=-1)
jnp.place(x,x>5,jnp.array([1.,2.]),inplace=False)
jnp.place(x,x>5,jnp.array([1.,2.]))
jnp.choose(jnp.array([0,1,1]),[jnp.array([1,2,3]),jnp.array([10,20,30])])
jnp.choose(jnp.array([0,1,2]),[jnp.array([1,2,3]),jnp.array([10,20,30])])
jnp.choose(jnp.array([0,1,2,-1]),[jnp.array([1,2,3,4]),jnp.array([10,20,30,40])],mode='clip')
jnp.choose(jnp.array([0,1,2,-1]),[jnp.array([1,2,3,4]),jnp.array([10,20,30,40])],mode='wrap')
jnp.choose(jnp.array([0,1,1]),[1,2.5])
jnp.choose(jnp.array([0.,1]),[1,2])
jnp.choose(jnp.array([False,True]),[1,2])
jnp.choose(jnp.array([[0],[1]]),jnp.array([[1,2,3],[4,5,6]]))
jnp.ravel_multi_index((jnp.array([0,1]),jnp.array([1,2])),(3,4))
jnp.ravel_multi_index((jnp.array([0,9]),jnp.array([1,2])),(3,4))
jnp.ravel_multi_index((jnp.array([0,9]),jnp.array([1,2])),(3,4),mode='clip')
jnp.ravel_multi_index((jnp.array([0,9]),jnp.array([1,-2])),(3,4),mode='wrap',order='F')
jnp.ravel_multi_index((jnp.array([0]),),(3,4))
jnp.ravel_multi_index((jnp.array([0.]),jnp.array([1])),(3,4))
jnp.ravel_multi_index((1,2),(3,4))
jnp.unravel_index(jnp.array([0,5,11,12,-1,-13,-12,100]),(3,4))
jnp.unravel_index(5,(3,4))
jnp.unravel_index(jnp.array([1.]),(3,4))
jnp.unravel_index(2,())
jnp.ix_(jnp.array([0,1]),jnp.array([True,False,True]))
jnp.ix_(jnp.array([[0]]))
jnp.ix_([0,1])
jnp.ix_()
jnp.diag_indices(3,3)
jnp.diag_indices(-1)
jnp.diag_indices_from(jnp.ones((2,2)))
jnp.diag_indices_from(jnp.ones((2,3)))
jnp.diag_indices_from(jnp.ones(2))
jnp.tril_indices(3)
jnp.tril_indices(3,1,4)
jnp.triu_indices(3,-1)
jnp.tril_indices_from(x)
jnp.triu_indices_from(x,1)
jnp.tril_indices_from(v)
jnp.mask_indices(3,jnp.triu)
jnp.mask_indices(3,jnp.triu,1,size=4)
jnp.fill_diagonal(x,5)
jnp.fill_diagonal(x,5,inplace=False)
jnp.fill_diagonal(x,jnp.array([1,2]),inplace=False)
jnp.fill_diagonal(jnp.ones((5,2)),7,wrap=True,inplace=False)
jnp.fill_diagonal(jnp.zeros((2,2,2)),7,inplace=False)
jnp.fill_diagonal(jnp.zeros((2,3,2)),7,inplace=False)
jnp.fill_diagonal(v,7,inplace=False)
jnp.s_[1:2,...,None]
jnp.index_exp[1:2]
jnp.r_[1,2,jnp.array([3,4])]
jnp.r_[0:5]
jnp.r_[0:1:5j]
jnp.r_[0:1:.25,7]
jnp.r_['-1',jnp.ones((2,2)),jnp.zeros((2,2))]
jnp.r_['0,2',[1,2,3],[4,5,6]]
jnp.r_['0,2,0',[1,2,3],[4,5,6]]
jnp.r_['1,2,0',[1,2,3],[4,5,6]]
jnp.r_['r',[1,2,3]]
jnp.r_['foo',[1,2,3]]
jnp.c_[jnp.array([1,2,3]),jnp.array([4,5,6])]
jnp.c_[jnp.ones((2,2)),jnp.zeros((2,1))]
jnp.c_[0:3,5:8]
jnp.mgrid[0:3]
jnp.mgrid[0:3,0:2]
jnp.mgrid[0:1:3j]
jnp.mgrid[0:1:3j,0:4:2]
jnp.ogrid[0:3,0:2]
jnp.ogrid[0:3]
jnp.ogrid[0:1:3j,0:4:2]
jnp.apply_along_axis(jnp.sum,0,x)
jnp.apply_along_axis(lambda a:a[:2]*2,1,x)
jnp.apply_along_axis(lambda a:jnp.stack([a,a]),1,x).shape
jnp.apply_along_axis(jnp.sum,-1,jnp.ones((2,3,4))).shape
jnp.apply_over_axes(jnp.sum,x,[0,1])
jnp.apply_over_axes(jnp.sum,x,0)
jnp.apply_over_axes(lambda a,k:3,x,0)
"""


def evaluated(expression, numpy):
    names = {
        "jnp": numpy,
        "v": numpy.arange(5),
        "x": numpy.arange(12, dtype=numpy.float32).reshape(3, 4),
    }
    return eval(expression, names)


def check_same(ours, theirs):
    if isinstance(theirs, tuple | list):
        assert type(ours) is type(theirs)
        for a, b in zip(ours, theirs, strict=True):
            check_same(a, b)
    elif isinstance(theirs, Value):
        assert ours.shape == theirs.shape
        assert np.dtype(ours.dtype) == np.dtype(theirs.dtype)
        assert ours.weak_type == theirs.weak_type
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
    else:
        assert ours == theirs


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().split("\n"))
def test_same(expression):
    theirs = of_jax(lambda j: evaluated(expression, j.numpy))
    if isinstance(theirs, Raised):
        with pytest.raises(Exception) as ours:
            evaluated(expression, jtnp)
        assert theirs.name in [c.__name__ for c in ours.type.__mro__]
    else:
        check_same(evaluated(expression, jtnp), theirs)


X = np.arange(6, dtype=np.float32).reshape(2, 3)
K = np.array([0, 1], np.int32)
TRACED = {
    "take flat": (lambda np, x, k: np.take(x, k), X, K),
    "take clip": (lambda np, x, k: np.take(x, k, axis=1, mode="clip"), X, K),
    "take wrap": (lambda np, x, k: np.take(x, k, axis=1, mode="wrap"), X, K),
    "take scalar": (lambda np, x: np.take(x, 1, axis=1), X),
    "take small": (lambda np, x, k: np.take(x, k, axis=1), X, K.astype(np.uint8)),
    "along": (lambda np, x, k: np.take_along_axis(x, k, axis=-1), X, K[:, None]),
    "along flat": (lambda np, x, k: np.take_along_axis(x, k, axis=None), X, K),
    "along clip": (lambda np, x, k: np.take_along_axis(x, k, axis=1, mode="clip"), X, K[:, None]),
    "flat index": (lambda np, k: np.ravel_multi_index((k, k), (2, 3), mode="wrap"), K),
    "unravel": (lambda np, k: np.unravel_index(k, (2, 3)), K),
    "diagonal": (lambda np, x: np.fill_diagonal(x, 3.0, inplace=False), X),
    "grid": (lambda np, k: np.ix_(k, k), K),
    "trace": (lambda np, x: np.trace(x, 1), X),
}


@pytest.mark.parametrize("name", TRACED)
def test_same_jaxpr(name):
    fun, *args = TRACED[name]

    def text(j):
        return re.sub(r"\s+", " ", str(j.make_jaxpr(lambda *a: fun(j.numpy, *a))(*args)))

    assert text(jitney) == of_jax(text)


@pytest.mark.parametrize("name", TRACED)
def test_compiled(name):
    fun, *args = TRACED[name]

    def result(j):
        return j.jit(lambda *a: fun(j.numpy, *a))(*args)

    check_same(result(jitney), of_jax(result))
