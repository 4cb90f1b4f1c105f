"""Errors are of JAX's classes, and tell the facts that JAX's messages tell."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
import warnings
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.parity.examples import Example, namespace, read
from tests.parity.facts import facts, normalise

EXAMPLES = read("error_examples.txt", "raises")


@dataclass(frozen=True)
class Outcome:
    """What running an example led to.

    Attributes:
      error: name of the class, and of the classes it is derived from; empty if there was no error.
      message: of the error.
      value: repr of what the example returned, if it returned.
      warned: (class, message) of warnings.
    """

    error: str
    message: str
    value: str
    warned: tuple[tuple[str, str], ...]


def observe(code: str) -> Outcome:
    """Runs an example: the body of a function."""
    names = namespace()
    body = "def example():\n" + textwrap.indent(code, "    ")
    error, message, value = "", "", ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(compile(body, "<script>", "exec"), names)
            value = repr(names["example"]())
        except Exception as e:
            error, message = describe(type(e)), str(e)
    warned = tuple((w.category.__name__, str(w.message)) for w in caught)
    return Outcome(error, message, value, warned)


def describe(kind: type[BaseException]) -> str:
    """ "TypeError (is a ...)", as recorded."""
    plain = (Exception, BaseException, object)
    bases = ", ".join(base.__name__ for base in kind.__mro__[1:] if base not in plain)
    return kind.__name__ + (f" (is a {bases})" if bases else "")


def recorded(example: Example) -> Outcome:
    """What real jax did."""
    first, _, rest = example.expected.partition("\n")
    pattern = r"^warns (\w+): ((?:.*\n?)*?)(?=^warns |\Z)"
    warned = tuple(re.findall(pattern, rest, flags=re.M))
    rest = re.sub(pattern, "", rest, flags=re.M)
    if first == "no exception":
        return Outcome("", "", rest.removeprefix("returns ").strip(), warned)
    return Outcome(first.removeprefix("jax.errors."), rest, "", warned)


# Examples that were recorded on two devices; they are run on two, too, in a process of their own.
ON_TWO_DEVICES = (
    "two_devices", "two_devices_jit", "make_mesh_size", "sharding_not_divisible",
    "sharding_unknown_axis", "sharding_rank", "shard_map_specs",
)  # fmt: skip

# Examples that end in another way, and why.
OTHERWISE = {"sharding_rank": "a ValueError that says what is wrong, not an assertion that fails"}

# Facts of JAX's messages, and classes of its warnings, that are not so here.
DIFFERENT: dict[str, tuple[str, ...]] = {
    # The count of what is not zero is traced there; here the operand is named.
    "nonzero_under_jit": ("int32[]",),
    "where_with_one_argument_under_jit": ("int32[]", "int32"),
    # NumPy warns there of a spelling that is not used here.
    "array_of_strings": ("DeprecationWarning",),
    # Seeds are looked at before anything is traced.
    "random_key_from_float": ("float32[]", "float32"),
    "removed_name": ("jax.numpy",),
    # Values print there as they are within the transformation.
    "grad_of_tuple_output": ("float32",),
    # The function is called by the name that the user knows.
    "shard_map_specs": ("_rem_singleton",),
    # Contracted axes are named one by one, with the operands' whole types.
    "dot_shapes": ("(3,)", "(4,)"),
    "matmul_operator_shapes": ("(3,)", "(2,)"),
    "dot_general_shapes": ("(3,)", "(4,)"),
}  # fmt: skip


def missing(example: Example, got: Outcome) -> list[str]:
    """In what an outcome differs from the recorded one."""
    wanted = recorded(example)
    absent = re.search(r"module 'jitney\S*' has no attribute '(\w+)'", got.message)
    if absent and absent[1] not in wanted.message:
        return [got.message]
    if got.error != wanted.error:
        return [f"{wanted.error or 'no exception'}; got {got.error or 'none'}: {got.message}"]
    found: list[str] = []
    if wanted.value and got.value != wanted.value:
        found.append(f"returns {wanted.value}; got {got.value}")
    message = normalise(got.message, example.name)
    other = DIFFERENT.get(example.name, ())
    for fact in facts(normalise(wanted.message, example.name)):
        if fact not in message and fact not in other:
            found.append(f"{fact!r} in the message: {message}")
    classes = {kind for kind, _ in got.warned}
    found += [f"warns {kind}" for kind, _ in wanted.warned if kind not in classes | {*other}]
    return found


def check(example: Example, got: Outcome) -> None:
    differences = missing(example, got)
    if example.name in OTHERWISE:
        assert differences, f"{example.name} is right: take it off OTHERWISE"
    else:
        assert not differences, "\n".join(differences)


@pytest.mark.parametrize(
    "example", [e for e in EXAMPLES if e.name not in ON_TWO_DEVICES], ids=lambda e: e.name
)
def test_raises_as_jax(example: Example) -> None:
    check(example, observe(example.code))


@pytest.fixture(scope="module")
def outcomes_on_two_devices() -> dict[str, Outcome]:
    told = subprocess.run(
        [sys.executable, "-c", f"from {__name__} import tell; tell()"],
        env={**os.environ, "JAX_NUM_CPU_DEVICES": "2"}, cwd=Path(__file__).parents[2],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    return {name: Outcome(*fields) for name, fields in json.loads(told.stdout).items()}


def tell() -> None:
    """Writes what the examples for two devices led to."""
    chosen = [e for e in EXAMPLES if e.name in ON_TWO_DEVICES]
    print(json.dumps({e.name: astuple(observe(e.code)) for e in chosen}))


@pytest.mark.parametrize("name", ON_TWO_DEVICES)
def test_raises_as_jax_on_two_devices(
    name: str, outcomes_on_two_devices: dict[str, Outcome]
) -> None:
    example = next(e for e in EXAMPLES if e.name == name)
    check(example, outcomes_on_two_devices[name])


def test_names_of_the_lists_exist() -> None:
    names: set[Any] = {example.name for example in EXAMPLES}
    assert {*ON_TWO_DEVICES, *OTHERWISE, *DIFFERENT} <= names
