"""A named axis is exchanged for a positional one: a transpose of both."""

import numpy as np
import pytest

import jitney
from jitney.primitives.parallel.all_to_all import all_to_all, pswapaxes

X = np.arange(54, dtype=np.float32).reshape(3, 3, 6)


def over(f, *args, **options):
    return jitney.vmap(f, axis_name="i", **options)(*args)


def test_the_axes_are_swapped():
    got = over(lambda x: pswapaxes(x, "i", 0), X)
    np.testing.assert_array_equal(got, np.swapaxes(X, 0, 1))


@pytest.mark.parametrize("concat", [0, 1])
def test_the_new_axis_goes_where_it_is_asked_for(concat):
    got = over(lambda x: all_to_all(x, "i", 0, concat), X)
    want = [np.stack([X[j, i] for j in range(3)], concat) for i in range(3)]
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("split", "concat"), [(1, 0), (1, 1), (0, 1)])
def test_tiles(split, concat):
    got = over(lambda x: all_to_all(x, "i", split, concat, tiled=True), X)
    parts = [np.split(x, 3, split) for x in X]
    want = [np.concatenate([parts[j][i] for j in range(3)], concat) for i in range(3)]
    np.testing.assert_array_equal(got, want)


def test_an_exchange_back_is_the_transpose():
    def there(x):
        return over(lambda x: all_to_all(x, "i", 0, 1), x)

    out, pull = jitney.vjp(there, X)
    np.testing.assert_array_equal(pull(out)[0], X)


def test_an_axis_of_one_instance_is_moved():
    one = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3)
    got = over(lambda x: all_to_all(x, "i", 0, 1), one)
    np.testing.assert_array_equal(got[0], np.moveaxis(one[0], 0, 1))


def test_sizes_that_do_not_fit():
    with pytest.raises(ValueError, match=r"axis 1 .* is split among the 3 participants"):
        over(lambda x: all_to_all(x, "i", 1, 0), X)
    with pytest.raises(ValueError, match="its size must be a multiple of 3"):
        over(lambda x: all_to_all(x, "i", 0, 0, tiled=True), X[:, :2])
