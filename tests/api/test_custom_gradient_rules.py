"""`custom_gradient` with logs, accumulators, and rules that are computed again."""

import pytest
from tests.helpers.both import Cases, check

import jitney as jtn
import jitney.numpy as jnp

cases = Cases()


def hijax(jax):
    return __import__(f"{jax.__name__}.experimental.hijax", fromlist=["ValAccum"])


def pulled(jax, fun, *args, ct=1.0):
    """Cotangents and log at `args`."""
    _, pullback = jax.vjp(fun, *args)
    return pullback.with_logs(jax.tree.map(jax.numpy.asarray, ct))


def square(jax, rule, **options):
    """The square, whose rule returns `rule(cotangent, ct)`."""
    return jax.custom_gradient(lambda x: (x**2, lambda ct: rule(2 * x * ct, ct)), **options)


# --- logs -----------------------------------------------------------------------------------------


@cases
def logs(jax, jnp):
    forms = (
        lambda out, ct: ((out,), {"ct": ct * 1}),
        lambda out, ct: (out, {"ct": ct * 1, "flag": ct > 0}),
        lambda out, ct: ([out], {"ct": [ct * 1, {"two": ct * 2}]}),
        lambda out, ct: [(out,), {}],
        lambda out, ct: (out, None),
    )
    functions = [square(jax, form, with_logs=True) for form in forms]
    first = functions[0]
    loop = lambda x: jax.lax.scan(lambda c, _: (first(c), None), x, None, length=2)[0]  # noqa: E731
    ones = jnp.ones(2)
    return [
        *(pulled(jax, f, 3.0) for f in functions), *(jax.grad(f)(3.0) for f in functions), first(3.0),
        pulled(jax, jax.jit(first), 3.0), pulled(jax, jax.vmap(first), ones, ct=ones),
        pulled(jax, jax.checkpoint(first), 3.0), pulled(jax, loop, 2.0),
    ]  # fmt: skip


@cases
def decorators(jax, jnp):
    @jax.custom_gradient()
    def f(x):
        """Squares."""
        return x**2, lambda ct: (ct * 7,)

    @jax.custom_gradient(with_logs=True)
    def g(x, *, power):
        return x**power, lambda ct: (ct * 7, {"ct": ct * 1})

    h = jax.custom_gradient(with_logs=False, remat=False, with_accums=None)(f)
    third = lambda x: g(x, power=3)  # noqa: E731
    return [
        f.__name__,
        f.__doc__,
        jax.grad(f)(3.0),
        callable(h),
        third(2.0),
        pulled(jax, third, 2.0),
    ]


@cases
def a_rule_without_a_log(jax, jnp):
    return jax.grad(square(jax, lambda out, ct: (out,), with_logs=True))(3.0)


@cases
def a_log_that_is_no_dict(jax, jnp):
    return jax.grad(square(jax, lambda out, ct: (out, [ct]), with_logs=True))(3.0)


@cases
def a_log_of_text(jax, jnp):
    return jax.grad(square(jax, lambda out, ct: (out, {"a": "text"}), with_logs=True))(3.0)


@cases
def a_log_that_is_not_announced(jax, jnp):
    return jax.grad(square(jax, lambda out, ct: ((out,), {"ct": ct})))(3.0)


# --- accumulators ---------------------------------------------------------------------------------


def accumulating(jax, declared, seen=None, log=lambda ct: None):
    """a * b + y of ({"a": a, "b": b}, an integer, y); notes the kinds of its accumulators in `seen`."""

    def f(d, i, y):
        def rule(ct, *accums):
            if seen is not None:
                is_accumulator = lambda x: hasattr(x, "accum")  # noqa: E731
                kinds = jax.tree.map(lambda a: type(a).__name__, accums, is_leaf=is_accumulator)
                seen.append((kinds, str(accums[2].aval.dtype)))
            of_d, _, of_y = accums
            of_d["a"].accum(ct * d["b"])
            of_d["b"].accum(ct * d["a"])
            of_y.accum(ct)
            of_y.accum(ct)
            return log(ct)

        return d["a"] * d["b"] + y, rule

    return jax.custom_gradient(f, with_accums=declared)


@cases
def accumulators(jax, jnp):
    val, args = hijax(jax).ValAccum, ({"a": 2.0, "b": 3.0}, 1, 2.0)
    out = []
    for declared in (val, (val, val, val), ({"a": val, "b": val}, val, val)):
        seen = []
        f = accumulating(jax, declared, seen)
        out += [f(*args), jax.grad(f, (0, 2))(*args), jax.grad(f, 2)(*args), seen]
        for g in (jax.jit(f), jax.checkpoint(f)):
            out += [jax.grad(g, 2)(*args), jax.jit(jax.grad(g))(*args)]
    return out


@cases
def accumulators_and_logs(jax, jnp):
    val = hijax(jax).ValAccum
    f = accumulating(jax, val, log=lambda ct: {"ct": ct * 2, "flag": ct > 0})
    rows = {"a": jnp.arange(2.0), "b": jnp.ones(2)}, jnp.arange(2), jnp.ones(2)
    g = lambda y: f({"a": 2.0, "b": y}, 0, y)  # noqa: E731
    loop = lambda y: jax.lax.scan(lambda c, _: (g(c), None), y, None, length=3)[0]  # noqa: E731
    ones = jnp.ones(2)
    of_rows = jax.vjp(jax.vmap(f), *rows)[1].with_logs(ones)[1]
    return [pulled(jax, g, 1.0), pulled(jax, loop, 1.0), of_rows]


@cases
def accumulators_that_get_nothing(jax, jnp):
    return pulled(
        jax,
        jax.custom_gradient(lambda x: (x**2, lambda ct, _: None), with_accums=hijax(jax).ValAccum),
        3.0,
    )


@cases
def references(jax, jnp):
    ref_accum, val = hijax(jax).RefAccum, hijax(jax).ValAccum
    value, nothing = jax.ad.GradValue(), jax.ad.DontWant()
    args, out = ({"a": 2.0, "b": 3.0}, 1, 2.0), []
    ct = jnp.asarray(1.0)
    for declared in (ref_accum, (ref_accum, val, val)):
        seen = []
        f = accumulating(jax, declared, seen)
        d, y = {"a": jax.new_ref(10.0), "b": jax.new_ref(20.0)}, jax.new_ref(30.0)
        last = y if declared is ref_accum else value
        result = jax.vjp(f, *args)[1].with_refs(d, value, last)(ct)
        out += [type(result[0]["a"]).__name__, d["a"][...], d["b"][...], y[...], seen]
        out.append(result[2] if last is value else type(result[2]).__name__)
    f = accumulating(jax, val)
    dropped = jax.vjp(f, *args)[1].with_refs({"a": nothing, "b": nothing}, value, value)(ct)
    return [*out, dropped[2]]


@cases
def writing_to_references(jax, jnp):
    def rule(ct, accum):
        accum.ref[0] = 7 * ct

    f = jax.custom_gradient(lambda x: (x.sum(), rule), with_accums=hijax(jax).RefAccum)

    def step(x):
        ref = jax.new_ref(jnp.ones(3))
        jax.vjp(f, x)[1].with_refs(ref)(jnp.float32(1))
        return ref[...]

    return step(jnp.ones(3)), jax.jit(step)(jnp.ones(3))


@cases
def kinds_that_rules_are_given(jax, jnp):
    seen = []

    @jax.custom_vjp
    def f(x, y, z):
        return x * y * z

    def bwd(_, ct, *accums):
        seen.append([type(a).__name__ for a in accums])
        for a in accums:
            a.accum(ct)

    f.defvjp_with_accums(lambda x, y, z: (x * y * z, None), bwd)
    ref, ct = jax.new_ref(1.0), jnp.asarray(1.0)
    wanted = ref, jax.ad.DontWant(), jax.ad.GradValue()
    direct = jax.vjp(f, 2.0, 3.0, 4.0)[1].with_refs(*wanted)(ct)
    jax.vjp(jax.jit(f), 2.0, 3.0, 4.0)[1].with_refs(*wanted)(ct)
    jax.grad(f, 1)(1.0, 2.0, 3.0)
    ones = jnp.ones(2)
    jax.vjp(jax.vmap(f), ones, ones, ones)[1].with_refs(jax.new_ref(ones), *wanted[1:])(ones)
    jax.grad(lambda x: f(x, x, 1.0))(1.0)
    return seen, direct[2], ref[...]


def with_kinds(jax, declared, *, wanted=None):
    f = accumulating(jax, declared)
    args = {"a": 2.0, "b": 3.0}, 1, 2.0
    return jax.grad(f)(*args) if wanted is None else jax.vjp(f, *args)[1].with_refs(*wanted)(1.0)


@cases
def a_list_of_kinds(jax, jnp):
    return with_kinds(jax, [hijax(jax).ValAccum] * 3)


@cases
def too_few_kinds(jax, jnp):
    return with_kinds(jax, (hijax(jax).ValAccum,))


@cases
def kinds_that_are_none(jax, jnp):
    return with_kinds(jax, True)


@cases
def null_accumulators_are_not_declared(jax, jnp):
    return with_kinds(jax, hijax(jax).NullAccum)


@cases
def an_accumulator_in_place_of_its_class(jax, jnp):
    return with_kinds(jax, hijax(jax).ValAccum(jax.core.ShapedArray((), jnp.float32)))


@cases
def references_that_are_not_there(jax, jnp):
    return with_kinds(jax, hijax(jax).RefAccum)


@cases
def references_that_are_not_declared(jax, jnp):
    refs = {"a": jax.new_ref(0.0), "b": jax.new_ref(0.0)}
    return with_kinds(
        jax, hijax(jax).ValAccum, wanted=(refs, jax.ad.GradValue(), jax.ad.GradValue())
    )


@cases
def references_of_rows(jax, jnp):
    f = jax.custom_gradient(
        lambda x: (x.sum(), lambda ct, a: a.accum(jnp.ones(3) * ct)), with_accums=hijax(jax).RefAccum
    )  # fmt: skip
    return jax.vjp(jax.vmap(f), jnp.ones((2, 3)))[1].with_refs(jax.new_ref(jnp.zeros((2, 3))))(
        jnp.ones(2)
    )


@cases
def a_rule_that_returns_a_number(jax, jnp):
    return jax.grad(
        jax.custom_gradient(lambda x: (x, lambda ct, a: 3), with_accums=hijax(jax).ValAccum)
    )(3.0)


@cases
def cotangents_of_another_shape(jax, jnp):
    rule = lambda ct, a: a.accum(jnp.ones(3))  # noqa: E731
    return jax.grad(jax.custom_gradient(lambda x: (x, rule), with_accums=hijax(jax).ValAccum))(3.0)


@cases
def accumulators_with_remat(jax, jnp):
    return jax.custom_gradient(lambda x: x, remat=True, with_accums=hijax(jax).ValAccum)


# --- remat ----------------------------------------------------------------------------------------


def rematerializing(jax, jnp, logged, seen):
    """The sine, whose rule is made again of x and of a cosine that is kept."""

    def f(x):
        kept = jnp.cos(x)

        def rem(x):
            seen.append("again")
            slope = 2 * kept * x
            return jnp.sin(x), lambda ct: (slope * ct, {"ct": ct * 1}) if logged else slope * ct

        return jnp.sin(x), rem

    return jax.custom_gradient(f, remat=True, with_logs=logged)


@cases
def rules_that_are_made_again(jax, jnp):
    jax.config.update("jax_custom_vjp3", True)
    jax.config.update("jax_remat3", True)
    try:
        seen, xs = [], jnp.arange(3.0)
        plain, logged = (rematerializing(jax, jnp, is_logged, seen) for is_logged in (False, True))
        step = lambda c, _: (jax.checkpoint(logged)(c), None)  # noqa: E731
        loop = lambda x: jax.lax.scan(step, x, None, length=2)[0]  # noqa: E731
        ways = (lambda f: f, jax.checkpoint, jax.jit)
        two = jax.custom_gradient(
            lambda x, y: (x * y, lambda x, y: (x * y, lambda ct: (ct * y, 3 * ct))), remat=True
        )
        return [
            plain(1.0), *(jax.grad(way(plain))(1.0) for way in ways), jax.grad(two, (0, 1))(2.0, 3.0),
            *(pulled(jax, way(logged), 1.0) for way in ways), pulled(jax, loop, 1.0),
            pulled(jax, jax.vmap(logged), xs, ct=xs),
        ]  # fmt: skip
    finally:
        jax.config.update("jax_custom_vjp3", False)
        jax.config.update("jax_remat3", False)


@pytest.mark.parametrize("case", cases.all, ids=cases.ids)
def test_rules(case):
    check(case)


def test_rules_are_made_again_without_options():
    """JAX 0.12.0.1 asks for `jax_custom_vjp3`."""
    seen = []
    f = rematerializing(jtn, jnp, False, seen)
    assert float(f(1.0)) == pytest.approx(float(jnp.sin(1.0))) and not seen
    assert float(jtn.grad(jtn.checkpoint(f))(2.0)) == pytest.approx(
        4 * float(jnp.cos(2.0)), rel=1e-6
    )
    assert seen == ["again"]


def test_messages_name_the_argument():
    with pytest.raises(
        TypeError, match=r"custom_gradient of f: .* a RefAccum for leaf 0 .*ValAccum.*with_refs"
    ):
        with_kinds(jtn, hijax(jtn).RefAccum)
    with pytest.raises(TypeError, match=r"custom_gradient of f: with_accums must have.*leaf True"):
        with_kinds(jtn, True)
