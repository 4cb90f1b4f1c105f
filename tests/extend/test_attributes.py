"""Attributes of what `jax.extend` has: contexts, primitives, traces."""

import importlib

import pytest
from tests.helpers.both import Cases, check

cases = Cases()


def part(jax, name):
    """A module of either package."""
    return importlib.import_module(f"{jax.__name__}.{name}")


@cases
def contexts_of_traces(jax, jnp):
    core = part(jax, "extend.core")
    take = core.take_current_trace()
    before = hasattr(take, "prev")
    seen = []

    def f(x):
        with take as trace:
            seen.append(trace is take.prev)
            with core.set_current_trace(trace) as given, core.take_current_trace() as again:
                seen.append((given, again is trace))
        return x

    jax.make_jaxpr(f)(1.0)
    kept = core.set_current_trace(None, check_leaks=True)
    return before, seen, kept.trace, kept.check_leaks, hasattr(kept, "prev")


@cases
def contexts_of_scopes(jax, jnp):
    util = part(jax, "extend.source_info_util")
    stack = util.new_name_stack("outer")
    contexts = [
        util.extend_name_stack("inner"), util.set_name_stack(stack),
        util.transform_name_stack("jvp"), util.user_context(None, name_stack=stack),
    ]  # fmt: skip
    seen = []
    with util.set_name_stack(util.new_name_stack("around")):
        for context in contexts:
            seen.append(hasattr(context, "prev"))
            with context as given:
                seen.append((given and str(given), str(util.current_name_stack())))
            seen.append(str(context.prev.name_stack))
    names = [getattr(c, "name", None) or str(c.name_stack) for c in contexts]
    return seen, names, contexts[-1].traceback


@cases
def scopes_are_those_of_entry(jax, jnp):
    util = part(jax, "extend.source_info_util")
    context = util.extend_name_stack("inner")
    with util.set_name_stack(util.new_name_stack("around")), context as stack:
        return str(stack)


@cases
def operations_in_scopes(jax, jnp):
    util = part(jax, "extend.source_info_util")

    def f(x):
        with util.user_context(None, name_stack=util.new_name_stack("given")):
            x = jnp.sin(x)
        with util.transform_name_stack("vmap"), util.extend_name_stack("inner"):
            return jnp.cos(x)

    return [str(e.source_info.name_stack) for e in jax.make_jaxpr(f)(1.0).eqns]


@cases
def effects_of_primitives(jax, jnp):
    primitive = part(jax, "extend.core").Primitive("watched")
    primitive.def_effectful_abstract_eval2(lambda x: x)
    primitive.def_impl(lambda x: x)
    programs = [
        lambda x: (primitive.bind(x), 1.0)[1],
        lambda x: jax.lax.cond(x > 0, primitive.bind, lambda x: x, x),
        lambda x: jax.lax.scan(lambda c, _: (primitive.bind(c), None), x, None, length=2)[0],
        lambda x: jax.checkpoint(primitive.bind)(x),
    ]
    made = [jax.make_jaxpr(f)(1.0) for f in programs]
    (effect,) = made[0].effects
    same = effect == type(effect)(primitive) and hash(effect) == hash(type(effect)(primitive))
    return [(str(j), len(j.effects)) for j in made], str(effect), same


@cases
def flags_of_primitives(jax, jnp):
    primitive = part(jax, "extend.core").Primitive("plain")
    return primitive.ref_primitive, primitive.ref_allocating


@cases
def primitives_on_users_values(jax, jnp):
    return part(jax, "extend.core").Primitive("plain").to_lojax(1.0)


@cases
def values_in_traces(jax, jnp):
    seen = []

    def f(x):
        value = x._trace.stage_value(jnp.ones(2))
        seen.append(type(value) is type(x))
        return x

    jax.make_jaxpr(f)(1.0)
    jax.jvp(f, (1.0,), (1.0,))
    jax.vmap(f)(jnp.ones(2))
    return seen


@pytest.mark.parametrize("case", cases.all, ids=cases.ids)
def test_attributes(case):
    check(case)
