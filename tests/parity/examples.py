"""The recorded examples: small functions and what real jax prints for them."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Example:
    """One example of a recorded file."""

    name: str
    code: str
    expected: str


def read(filename: str) -> list[Example]:
    """The examples of a file: `=== name`, code, `--- gives`, text."""
    text = (DATA / filename).read_text()
    found: list[Example] = []
    for block in re.split(r"^=== ", text, flags=re.M)[1:]:
        name, _, rest = block.partition("\n")
        code, _, expected = rest.partition("--- gives\n")
        found.append(Example(name.strip(), code, expected.strip("\n")))
    return found


def namespace() -> dict[str, Any]:
    """The names that the examples use, answered by jitney."""
    import functools

    import numpy as np

    import jitney as jax
    import jitney.numpy as jnp

    names: dict[str, Any] = {
        "jax": jax, "jnp": jnp, "np": np, "functools": functools, "partial": functools.partial,
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
    """Executes `code`; the value of its last line, an expression."""
    import ast

    tree = ast.parse(code)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    names = namespace()
    exec(compile(tree, "<example>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<example>", "eval"), names)
