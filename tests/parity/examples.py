"""The recorded examples: small programs, and what real jax prints or raises for them."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Example:
    """One example of a recorded file."""

    name: str
    code: str
    expected: str


def read(filename: str, outcome: str = "gives") -> list[Example]:
    """The examples of a file: `=== name`, code, `--- gives` (or another outcome), text."""
    text = (DATA / filename).read_text()
    found: list[Example] = []
    for block in re.split(r"^=== ", text, flags=re.M)[1:]:
        name, _, rest = block.partition("\n")
        code, _, expected = rest.partition(f"--- {outcome}\n")
        found.append(Example(name.strip(), code, expected.strip("\n")))
    return found


def namespace() -> dict[str, Any]:
    """The names that the examples use, answered by jitney."""
    import functools
    import importlib
    import types
    import typing

    import numpy as np

    import jitney as jax
    import jitney.numpy as jnp

    names: dict[str, Any] = {
        "jax": jax, "jnp": jnp, "np": np, "functools": functools, "partial": functools.partial,
        "typing": typing, "importlib": importlib, "options": types.SimpleNamespace(module="jitney"),
    }  # fmt: skip
    for module in ("lax", "nn", "random", "tree_util"):
        names[module] = getattr(jax, module)
    for name in (
        "jit", "make_jaxpr", "grad", "vmap", "jvp", "vjp", "linearize", "jacfwd", "jacrev",
        "hessian", "checkpoint", "custom_jvp", "custom_vjp", "value_and_grad", "eval_shape",
        "linear_transpose", "ShapeDtypeStruct", "pure_callback",
    ):  # fmt: skip
        with contextlib.suppress(AttributeError):
            names[name] = getattr(jax, name)
    return names


def run(code: str) -> Any:
    """Executes `code`; the value of its last line, if that is an expression."""
    import ast

    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    names = namespace()
    exec(compile(tree, "<example>", "exec"), names)
    if last is None:
        return None
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), "<example>", "eval"), names)


# --- the recorded prints of parts of programs: what they are prints of ----------------------------

_BRANCHING = """
def f(x, n):
    y = jnp.sin(x) * 2.0
    return lax.cond(n > 0, lambda v: -v, lambda v: v, y)
args = (jnp.ones(3), 1)
closed = make_jaxpr(f)(*args)
"""

_PLAIN = """
def f(x, n):
    return jnp.sin(x) * 2.0
closed = make_jaxpr(f)(jnp.ones(3), 1)
eqn = closed.jaxpr.eqns[0]
"""

_WEAK = "closed = make_jaxpr(lambda x: x + 1.0)(1.0)\naval = closed.in_avals[0]\n"

PRINTS: dict[str, str] = {
    "repr(make_jaxpr(f)(*args))": _BRANCHING + "repr(closed)",
    "str(closed.jaxpr)": _BRANCHING + "str(closed.jaxpr)",
    "type(closed).__name__, type(closed.jaxpr).__name__":
        _PLAIN + "f'{type(closed).__name__}, {type(closed.jaxpr).__name__}'",
    "closed.in_avals": _PLAIN + "closed.in_avals",
    "closed.out_avals": _PLAIN + "closed.out_avals",
    "weakly typed in_avals": _WEAK + "closed.in_avals",
    "weakly typed: str(aval), aval.str_short()": _WEAK + "f'{aval}, {aval.str_short()}'",
    "str(eqn)": _PLAIN + "str(eqn)",
    "str(eqn.primitive), eqn.params": _PLAIN + "f'{eqn.primitive}, {eqn.params}'",
    "params of the last equation: names": _BRANCHING + "sorted(closed.jaxpr.eqns[-1].params)",
    "type of invars, and of a literal":
        _WEAK + "', '.join(type(atom).__name__ for atom in closed.jaxpr.eqns[0].invars)",
    "repr of a literal": _WEAK + "repr(closed.jaxpr.eqns[0].invars[1])",
    "closure constants: str, constvars, consts": """
table = jnp.arange(3.0)
closed = make_jaxpr(lambda x: x + table)(jnp.ones(3))
f"{closed}\\n{len(closed.jaxpr.constvars)}\\n{closed.consts}"
""",
    "jaxpr.effects": """
closed = make_jaxpr(lambda x: jax.debug.print("{}", x, ordered=True))(1.0)
closed.effects
""",
    "pretty_print(print_shapes=False)": _BRANCHING + "closed.pretty_print(print_shapes=False)",
    "pretty_print(use_color=False, print_effects=True)":
        _BRANCHING + "closed.pretty_print(use_color=False, print_effects=True)",
    "pretty_print(name_stack=True) of named_scope and named_call": """
def f(x):
    with jax.named_scope("block"):
        return jax.named_call(lambda x: x * 2.0, name="layer")(x) + 1.0
make_jaxpr(f)(1.0).pretty_print(name_stack=True)
""",
    "make_jaxpr under enable_x64(True), args (1.0, 2, float32)": """
def f(x, n, y):
    return x * 2.0, n + 1, x + n, y + x, jnp.arange(2)
with jax.enable_x64(True):
    closed = make_jaxpr(f)(1.0, 2, jnp.float32(1))
closed
""",
    "make_jaxpr under numpy_dtype_promotion('strict')": """
with jax.numpy_dtype_promotion("strict"):
    closed = make_jaxpr(lambda x: x + 1.0)(jnp.float32(1))
closed
""",
    "make_jaxpr(return_shape=True)[1]": """
make_jaxpr(lambda x: {"s": x.sum(), "t": (x, None)}, return_shape=True)(jnp.ones(3))[1]
""",
    "jax.jit(f).trace(*args).jaxpr": _BRANCHING + "jax.jit(f).trace(*args).jaxpr",
    "jax.eval_shape": """
jax.eval_shape(lambda x: (x @ x.T, x > 0), jax.ShapeDtypeStruct((2, 3), jnp.float32))
""",
    "typeof(array), typeof(python float), typeof(key)":
        "', '.join(str(jax.typeof(x)) for x in (jnp.ones((2, 3)), 1.0, jax.random.key(0)))",
    "str and repr of tracers under make_jaxpr": """
seen = []
make_jaxpr(lambda x, n: seen.extend([str(x), repr(x), repr(n)]))(jnp.ones(3), 1)
"\\n".join(seen)
""",
    "str and repr of tracers under grad": """
seen = []
jax.grad(lambda x: seen.extend([str(x), repr(x)]) or x)(1.0)
"\\n".join(seen)
""",
    "str and repr of tracers under vmap": """
seen = []
jax.vmap(lambda x: seen.extend([str(x), repr(x)]) or x)(jnp.arange(3.0))
"\\n".join(seen)
""",
}  # fmt: skip


def code_of(example: Example) -> str:
    """The program of an example; that of the recorded prints is written here."""
    kind, _, what = example.name.partition("print: ")
    return example.code if kind else PRINTS[what]


def text_of(example: Example) -> str:
    """What the example prints, addresses left out."""
    text = str(run(code_of(example)))
    return re.sub(r"0x[0-9a-f]+", "0xXXXXXXXXXXXX", text)


def same_text(printed: str, example: Example) -> bool:
    """Whether `printed` is what was recorded, where each example was a function of its name."""
    expected = with_own_options(example.expected.replace("0x...", "0xXXXXXXXXXXXX"))
    return printed == expected.replace(f"<function {example.name}.<locals>.", "<function ")


def with_own_options(text: str) -> str:
    """`text` with the print options of this NumPy, of which newer ones have more."""
    options = f"np_printoptions={tuple(np.get_printoptions().items())}"
    return re.sub(r"np_printoptions=.*", lambda _: options, text)
