"""`jax.experimental.layout`: what is checked and shown of layouts, beside real jax."""

import importlib

import numpy as np
import pytest
from tests.helpers.both import Cases, check

import jitney
import jitney.numpy as jnp
from jitney.experimental.layout import Format, Layout, explicit_layout

same = Cases()


def module(jax):
    return importlib.import_module(f"{jax.__name__}.experimental.layout")


def place(jax):
    return jax.sharding.SingleDeviceSharding(jax.devices()[0])


@same
def layouts(jax, jnp):
    m = module(jax)
    layout = m.Layout((0, 1))
    wide = m.Layout((0, 1), ((8, 128),), 4)
    return (
        str(layout), str(wide), layout == m.Layout((0, 1)), hash(layout) == hash(m.Layout((0, 1))),
        str(layout.update(major_to_minor=(1, 0))), str(m.Layout.AUTO), str(m.Format(m.Layout.AUTO)),
        str(m.Format(layout, place(jax))).split("sharding=")[0],
    )  # fmt: skip


@same
def constraint(jax, jnp):
    m = module(jax)
    y = jnp.arange(6.0).reshape(2, 3)

    def f(y):
        return m.with_layout_constraint(
            {"a": y, "b": y}, {"a": m.Layout((1, 0)), "b": m.Layout((0, 1))}
        )

    def of_one(y):
        return m.with_layout_constraint(y, m.Layout((1, 0)))

    return (
        f(y), jax.jit(f)(y), str(jax.make_jaxpr(f)(y)),
        str(jax.make_jaxpr(jax.grad(lambda y: of_one(y).sum()))(y)),
        str(jax.make_jaxpr(lambda y: jax.jvp(of_one, (y,), (y,)))(y)),
        str(jax.make_jaxpr(jax.vmap(of_one))(y[None])),
    )  # fmt: skip


@same
def one_for_all(jax, jnp):
    m = module(jax)
    return m.with_layout_constraint([jnp.ones(2), jnp.ones(3)], m.Layout((0,)))


@same
def chosen_by_the_compiler(jax, jnp):
    m = module(jax)
    auto = m.Format(m.Layout.AUTO)
    f = jax.jit(lambda y: y + 1, in_shardings=auto, out_shardings=auto)
    y = jnp.arange(6.0).reshape(2, 3)
    compiled = f.lower(jax.ShapeDtypeStruct((2, 3), jnp.float32)).compile()
    (formats,), _ = compiled.input_formats
    return f(y), compiled(jax.device_put(y, formats)), str(formats.layout)


@same
def rows(jax, jnp):
    m = module(jax)
    y = jax.device_put(jnp.ones((2, 3)), m.Format(m.Layout((0, 1)), place(jax)))
    f = jax.jit(lambda y: y.T, in_shardings=m.Format(m.Layout((0, 1)), place(jax)))
    return str(y.format.layout), f(y)


WRONG = {
    "layout": lambda m, jax, y: m.Format(3),
    "place": lambda m, jax, y: m.Format(m.Layout((0,)), 3),
    "no place": lambda m, jax, y: m.Format(m.Layout((0,))),
    "rank": lambda m, jax, y: m.Layout((0, 1)).check_compatible_aval((2,)),
    "constraint of rank": lambda m, jax, y: m.with_layout_constraint(y, m.Layout((0,))),
    "constraint": lambda m, jax, y: m.with_layout_constraint(y, 3),
    "none": lambda m, jax, y: m.with_layout_constraint(y, None),
    "auto": lambda m, jax, y: m.with_layout_constraint(y, m.Layout.AUTO),
    "prefix": lambda m, jax, y: m.with_layout_constraint([y], {"a": m.Layout((0, 1))}),
    "result": lambda m, jax, y: jax.jit(
        lambda y: y, out_shardings=m.Format(m.Layout((0,)), place(jax))
    )(y),
    "argument": lambda m, jax, y: jax.jit(
        lambda y: y, in_shardings=m.Format(m.Layout((0,)), place(jax))
    )(y),
    "device_put": lambda m, jax, y: jax.device_put(y, m.Format(m.Layout((0,)), place(jax))),
}


@same
def explicit(jax, jnp):
    """Eagerly and with layouts that differ from the arrays', real JAX runs none of them."""
    m = module(jax)
    y, z = jnp.arange(6.0).reshape(2, 3), jnp.ones((3, 2))

    def f(y, z):
        return {"a": jnp.sin(y) @ z}, y.T

    found = []
    for layouts in (m.Layout((1, 0)), (m.Layout((1, 0)), m.Layout((0, 1))), m.Layout.AUTO):
        g = m.explicit_layout(f, in_layouts=layouts)
        found += [str(jax.make_jaxpr(g)(y, z)), jax.jit(g)(y, z)]
    of_one = m.explicit_layout(in_layouts=(m.Layout((1, 0)),))(lambda y: y * y)
    return found, jax.jit(of_one)(y), jax.jit(jax.grad(lambda y: of_one(y).sum()))(y)


@same
def types_leave_layouts_to_the_compiler(jax, jnp):
    return str(jax.typeof(jnp.ones(3)).layout), str(jax.core.ShapedArray((2,), jnp.int32).layout)


@pytest.mark.parametrize("case", same.all, ids=same.ids)
def test_like_jax(case):
    check(case)


WRONG_LAYOUTS = {
    "list": lambda m, jax, y: jax.jit(
        m.explicit_layout(jax.numpy.sin, in_layouts=[m.Layout((1, 0))])
    )(y),
    "missing": lambda m, jax, y: jax.jit(m.explicit_layout(jax.numpy.sin))(y),
    "mixed": lambda m, jax, y: jax.jit(
        m.explicit_layout(lambda x, y: x, in_layouts=(m.Layout((1, 0)), m.Layout.AUTO))
    )(y, y),
    "none": lambda m, jax, y: jax.jit(
        m.explicit_layout(lambda x, y: x, in_layouts=(m.Layout((1, 0)), None))
    )(y, y),
}


@pytest.mark.parametrize("wrong", WRONG_LAYOUTS)
def test_errors_of_explicit_layouts(wrong):
    check(lambda jax, jnp: WRONG_LAYOUTS[wrong](module(jax), jax, jnp.ones((2, 3))))


def test_wrong_explicit_layouts():
    y = jnp.ones((2, 3))
    with pytest.raises(ValueError, match="orders 1 axes"):
        explicit_layout(jnp.sin, in_layouts=Layout((0,)))(y)
    with pytest.raises(TypeError, match="but one is 3"):
        explicit_layout(jnp.sin, in_layouts=3)(y)


def test_explicit_layouts_of_batches():
    f = explicit_layout(jnp.sin, in_layouts=Layout((1, 0)))
    program = jitney.make_jaxpr(jitney.vmap(f, 1, 1))(jnp.ones((2, 3, 4)))
    assert program.eqns[0].params["dst_layout"].major_to_minor == (1, 2, 0)
    auto = explicit_layout(jnp.sin, in_layouts=Layout.AUTO)
    np.testing.assert_array_equal(jitney.vmap(auto)(jnp.zeros((2, 3))), np.zeros((2, 3)))


@pytest.mark.parametrize("wrong", WRONG)
def test_errors(wrong):
    check(lambda jax, jnp: WRONG[wrong](module(jax), jax, jnp.ones((2, 3))))


def test_arrays_lie_row_by_row():
    columns = Format(Layout((1, 0)), place(jitney))
    y = jitney.device_put(jnp.arange(6.0).reshape(2, 3), columns)
    assert y.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert y.format.layout == Layout((0, 1), ())
    f = jitney.jit(lambda y: y.T, in_shardings=columns, out_shardings=columns)
    assert f(y).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_batched_axes_come_first():
    layout = Layout((1, 0))

    def f(y):
        from jitney.experimental.layout import with_layout_constraint

        return with_layout_constraint(y, layout)

    program = jitney.make_jaxpr(jitney.vmap(f, 1, 1))(jnp.ones((2, 3, 4)))
    assert program.eqns[0].params["layout"].major_to_minor == (1, 2, 0)
