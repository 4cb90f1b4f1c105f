"""Errors are of JAX's classes, and tell the facts that JAX's messages tell."""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
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


def _because(reason: str, *names: str) -> Iterable[tuple[str, str]]:
    return ((name, reason) for name in names)


# Examples that end in another way yet, and what they wait for.
NOT_YET: dict[str, str] = dict(
    (
        *_because(
            "several devices",
            "two_devices", "two_devices_jit", "sharding_not_divisible",
            "sharding_unknown_axis", "sharding_rank", "shard_map_specs", "transfer_guard",
        ),
    )
)  # fmt: skip

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


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_raises_as_jax(example: Example) -> None:
    differences = missing(example, observe(example.code))
    if example.name in NOT_YET:
        assert differences, f"{example.name} is right: take it off NOT_YET"
    else:
        assert not differences, "\n".join(differences)


def test_names_of_the_lists_exist() -> None:
    names: set[Any] = {example.name for example in EXAMPLES}
    assert set(NOT_YET) | set(DIFFERENT) <= names
