"""Completes error messages at the boundary of the package with the user's call and its operands.

The code that raises an error knows the operation, the requirement and the values that violate it,
but not the user's source.

    concatenate: all operands must have the same rank, but their shapes are (3, 4), (3,)

becomes

    jnp.hstack([x, bias]), in concatenate: all operands must have the same rank, but ...
      tup[0]  float32[3,4]  argument x of layer (model.py:11)
      tup[1]  float32[3]    bias

Errors of all functions are completed, including errors that Python and NumPy raise within them. The
arguments are taken from the call if it passed through an API boundary, and otherwise from the
outermost frame of the package. This code runs only when an error is raised. It does not run user
code, such as properties or `__repr__`.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import math
import re
import sys
from collections.abc import Mapping, Sequence
from types import FrameType, ModuleType
from typing import Any, cast

from jitney.core.diagnostics import operand_rows
from jitney.core.messages import cures, messages, print_cures
from jitney.core.sharding_in_types.sums import NonlinearError, ShardingTypeError
from jitney.core.source import call_arguments, source_info, user_code
from jitney.core.source.call_arguments import Argument
from jitney.core.source.user_code import UserCode
from jitney.core.types import dtypes

# Errors whose only argument is the message.
_PLAIN = (
    TypeError, ValueError, IndexError, NotImplementedError, RuntimeError, ZeroDivisionError,
    OverflowError, AttributeError, NameError, MemoryError, dtypes.TypePromotionError,
    ShardingTypeError, NonlinearError,
)  # fmt: skip

# The name of an operation in front of a requirement: "jnp.stack: ...", "vmap of f: ...".
_NAMED = re.compile(r"([A-Za-z_][\w.]*(?:\([\w.<>]*\)| of [\w.<>]+)?): ")
# A placeholder for the user's expression.
_STANDS_FOR = re.compile(r"x(?:\.at)?\[[\w.]*\]: ")
_CALLED_WRONGLY = re.compile(r"[\w.<>]+\(\) (got|takes|missing) ")
# Parameter names of PyTorch -> names of the same parameters here.
_OF_PYTORCH = {"dim": "axis", "dims": "axis", "keepdim": "keepdims", "p": "ord"}
_UNKNOWN_KEYWORD = re.compile(r"unexpected keyword argument '(\w+)'")

_NOT_COMPARED = re.compile(r"'[<>]=?' not supported between instances of '(\w+)' and '(\w+)'")
_NOT_WRITTEN = re.compile(r"%\w format: an? [\w ]+ is required, not (\w+)")
_NOT_IMPORTED = re.compile(r"cannot import name '(\w+)' from '[\w.]+' \(")
_NO_HASH = re.compile(r"unhashable type: '(\w+)'")
_ARRAY = "ArrayImpl"
_LISTS = {"list": list, "tuple": tuple}
_OF_ARRAYS = re.compile(r"ArrayImpl|Tracer")

_LESS_MEMORY = "smaller arrays; `jitney profile` shows the lines that need the most memory"


def complete_call(
    error: BaseException, function: object, args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> None:  # fmt: skip
    """Completes the message of an error that a public function, called by the user, has raised."""
    code = user_code.current()
    if code is not None and isinstance(error, MemoryError) and not _is_plain(error):
        _note_bytes(error, code)
    if code is None or not _is_plain(error):
        return
    signature = call_arguments.signature_of(function)
    if signature is not None and [*signature.parameters][-2:] == ["args", "kwargs"]:
        # It forwards the arguments of the function that the user has called: `self, args, kwargs`.
        node = code.expression
        called = cures.value_of(code, node.func) if isinstance(node, ast.Call) else None
        function, signature = called, call_arguments.signature_of(called)
        args, kwargs = call_arguments.inner(args)
    nodes = call_arguments.syntax(code, signature, function)
    bound = call_arguments.bind(signature, args, kwargs)
    if _rewrite_separate(error, code, signature, args):
        return
    if signature is None or bound is None:
        _rewrite(error, code, [], _cure_of_call(error, function, signature))
        return
    cure = _LESS_MEMORY if type(error) is MemoryError else ""
    _rewrite(error, code, list(call_arguments.of_call(bound, signature, nodes)), cure)


def complete_within(
    error: BaseException, user: FrameType, lasti: int, own: FrameType | None
) -> None:
    """Completes the message of an error for which only the traceback is available.

    Args:
      error: the error to complete.
      user: the innermost frame of the user's code.
      lasti: the offset of the instruction that the frame was executing.
      own: the frame of this package that it called; None if it called native code.
    """
    code = user_code.at(user, lasti)
    if isinstance(error, MemoryError) and not _is_plain(error):
        _note_bytes(error, code)
    if isinstance(error, ImportError) and own is None:
        _rewrite_import(error)
    if not _is_plain(error):
        return
    node = code.expression
    called = cures.value_of(code, node.func) if isinstance(node, ast.Call) else None
    if own is None:
        if type(error) is IndexError:
            _rewrite_index_of_devices(error, code)
        elif type(error) is MemoryError:
            if str(error).startswith("no memory for "):
                _rewrite(error, code, [], _LESS_MEMORY)
        elif type(error) is ValueError:
            _rewrite_store(error, code)
        elif type(error) is TypeError:
            _rewrite_call(error, code, called)
            _rewrite_hash(error, code)
            _rewrite_comparison(error, code)
            _rewrite_text(error, code)
        return
    if _CALLED_WRONGLY.match(str(error)) and callable(called):
        _rewrite(error, code, [], _cure_of_call(error, called, call_arguments.signature_of(called)))
        return
    arguments = list(call_arguments.of_frame(code, own, called))
    if callable(called):
        signature = call_arguments.signature_of(called)
        values = _positional(code, signature, arguments)
        if _rewrite_separate(error, code, signature, values):
            return
    hashed = _NO_HASH.match(str(error))
    cure = cures.of_key(code, hashed[1] == _ARRAY) if hashed else _name_elsewhere(error)
    _rewrite(error, code, arguments, cure)


def _positional(
    code: UserCode, signature: inspect.Signature | None, arguments: Sequence[Argument]
) -> list[object]:
    """Returns the positional arguments of a call, as found in the frame or in variables."""
    node = code.expression
    nodes = node.args if isinstance(node, ast.Call) else []
    kept = {each.label: each.value for each in arguments}
    names = [] if signature is None else [*signature.parameters]
    return [
        kept[name] if name in kept else code.value_of(arg.id) if isinstance(arg, ast.Name) else None
        for name, arg in zip(names, nodes, strict=False)
    ]


# Modules in which to look for a name that another module lacks.
_MODULES = ("numpy", "numpy.linalg", "numpy.fft", "nn", "lax", "random", "tree", "scipy.special",
            "scipy.linalg", "", "experimental")  # fmt: skip


def _name_elsewhere(error: BaseException) -> str:
    """Returns the full name of a missing attribute if another module has it; else ""."""
    name = error.name if isinstance(error, AttributeError) else None
    module = getattr(error, "obj", None)
    if not name or name.startswith("_") or not isinstance(module, ModuleType):
        return ""
    if module.__name__.partition(".")[0] not in source_info.NAMES or "no attribute" not in str(
        error
    ):
        return ""
    for each in _MODULES:
        candidate = importlib.import_module(f"jitney.{each}".rstrip("."))
        if candidate is not module and name in dir(candidate):
            return f"jax.{each}.{name}".replace("..", ".")
    return ""


def _rewrite_separate(
    error: BaseException, code: UserCode, signature: inspect.Signature | None, values: Sequence[Any]
) -> bool:
    """Completes the message for arrays that were passed separately instead of as one list.

    Args:
      error: the error to complete.
      code: the user's call of the function.
      signature: the signature of the function.
      values: the positional arguments of the call.

    Returns:
      Whether the arrays were passed separately.
    """
    parameters = [] if signature is None else [*signature.parameters.values()]
    count = operand_rows.count_arrays(values)
    if count < 2 or not parameters or not call_arguments.takes_list(parameters[0]):
        return False
    if any(map(call_arguments.takes_arrays, parameters[1:count])):
        return False
    cure = cures.of_separate(code, count)
    if cure:
        nodes = code.expression.args if isinstance(code.expression, ast.Call) else []
        error.args = (
            (
                f"`{parameters[0].name}` must be a list of arrays, but the arrays are passed as "
                "separate arguments"
            ),
        )
        arguments = [
            Argument(f"argument {k}", value, node)
            for k, (value, node) in enumerate(zip(values[:count], nodes, strict=False))
        ]
        _rewrite(error, code, arguments, cure)
    return bool(cure)


def _rewrite_hash(error: TypeError, code: UserCode) -> None:
    """Completes Python's message for `d[i]` where `i` is an array."""
    match = _NO_HASH.match(str(error))
    node = code.expression
    if match is None or not _OF_ARRAYS.search(match[1]):
        return
    key = node.slice if isinstance(node, ast.Subscript) else None
    held = code.value_of(key.id) if isinstance(key, ast.Name) else None
    arguments = [] if held is None or key is None else [Argument("index", held, key)]
    _rewrite(error, code, arguments, cures.of_key(code, match[1] == _ARRAY))


def _rewrite_call(error: TypeError, code: UserCode, called: object) -> None:
    """Completes Python's message for a call that does not match the signature of our function."""
    module = getattr(called, "__module__", None) or ""
    if module.partition(".")[0] in ("jitney", "jax") and _CALLED_WRONGLY.match(str(error)):
        _rewrite(error, code, [], _cure_of_call(error, called, call_arguments.signature_of(called)))


def _rewrite_store(error: ValueError, code: UserCode) -> None:
    """Completes NumPy's message for storing a tracer in a NumPy array."""
    cause = error.__cause__
    update = cures.of_store(code)
    if update and getattr(cause, "code", "") == "value-of-tracer":
        error.args = (
            f"`{messages.statement(code)}` ({code.place}): NumPy requested a value that is known "
            f"only when the compiled function runs: {error}\nInstead: "
            f"{update}{messages.see('numpy-of-tracer')}",
        )
        error.__cause__ = None  # the cause has the same message


def _rewrite_comparison(error: TypeError, code: UserCode) -> None:
    """Completes Python's message for `x < [1, 2]`, which neither operand implements."""
    match = _NOT_COMPARED.match(str(error))
    node = code.expression
    if match is None or not isinstance(node, ast.Compare):
        return
    kinds = match.groups()
    is_left = kinds[0] in _LISTS
    if kinds[not is_left] in _LISTS and _OF_ARRAYS.search(kinds[is_left]):
        held = _LISTS[kinds[not is_left]]
        _rewrite(error, code, [], cures.of_container(code, held, is_left))


def _rewrite_text(error: TypeError, code: UserCode) -> None:
    """Completes Python's message for `"%d" % x`, which replaces the message of the tracer."""
    match = _NOT_WRITTEN.match(str(error))
    printed = print_cures.of_percent(code)
    if match is not None and printed and _OF_ARRAYS.search(match[1]):
        _rewrite(error, code, [], f"{printed}, which prints when the function runs")


def _rewrite_import(error: ImportError) -> None:
    """Completes the message for `from jax import name` with the message for `jax.name`."""
    match = _NOT_IMPORTED.match(str(error))
    package = error.name or ""
    module = sys.modules.get(package)
    if match is None or module is None or package.partition(".")[0] not in source_info.NAMES:
        return
    name = match[1]
    try:
        getattr(module, name)
    except AttributeError as missing:
        if str(missing) != f"module '{package}' has no attribute '{name}'":
            error.msg = f"cannot import name '{name}' from '{package}': {missing}"
        elif other := _name_elsewhere(missing).rpartition(".")[0]:
            error.msg += f"\nInstead: from {other} import {name}"


def _rewrite_index_of_devices(error: IndexError, code: UserCode) -> None:
    """Completes Python's message for `jax.devices()[3]` if there are fewer devices."""
    match code.expression:
        case ast.Subscript(value=ast.Call(func=function), slice=index):
            is_devices = code.text(function).rpartition(".")[2] in ("devices", "local_devices")
        case _:
            return
    if is_devices:
        position = index.value if isinstance(index, ast.Constant) else None
        wanted = position + 1 if isinstance(position, int) else "n"
        _rewrite(
            error, code, [],
            "to create more CPU devices, call "
            f'jax.config.update("jax_num_cpu_devices", {wanted}) before the first computation, or '
            f"set XLA_FLAGS=--xla_force_host_platform_device_count={wanted} in the environment",
        )  # fmt: skip


def _is_plain(error: BaseException) -> bool:
    return type(error) in _PLAIN and len(error.args) == 1 and isinstance(error.args[0], str)


def _note_bytes(error: MemoryError, code: UserCode) -> None:
    """Adds a note about the operation to a NumPy error that states only a shape and a dtype."""
    shape: Any = getattr(error, "shape", None)
    itemsize: Any = getattr(getattr(error, "dtype", None), "itemsize", None)
    if isinstance(shape, tuple) and isinstance(itemsize, int):
        nbytes = itemsize * math.prod(cast("tuple[int, ...]", shape))
        note = messages.at_expression(f"{nbytes:,} bytes were requested", code)
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
            error.add_note(f"Instead: {_LESS_MEMORY}")


def _rewrite(
    error: BaseException, code: UserCode, arguments: Sequence[Argument], cure: str
) -> None:
    message: str = error.args[0]
    first, *notes = message.split("\n")
    if not messages.begins_with_expression(first, code):
        name = _NAMED.match(first)
        example = _STANDS_FOR.match(first)
        if name is not None:
            first = f"{messages.subject(name[1], code)}: {first[name.end() :]}"
        elif example is not None and code.text():
            first = messages.at_expression(first[example.end() :], code)
        else:
            first = messages.at_expression(first, code)
    if all(line.startswith(("Instead: ", "See `")) for line in notes):
        notes = [*operand_rows.rows(arguments, code), *notes]
    if cure:
        notes.append(f"Instead: {cure}")
    error.args = ("\n".join([first, *notes]),)


def _cure_of_call(
    error: BaseException, function: object, signature: inspect.Signature | None
) -> str:
    """Returns the signature of the function if the call does not match it; else an empty string."""
    if signature is None or not _CALLED_WRONGLY.match(str(error)):
        return ""
    keyword = _UNKNOWN_KEYWORD.search(str(error))
    near: list[str] = []
    if keyword is not None:
        here = _OF_PYTORCH.get(keyword[1])
        if here is not None and here in signature.parameters:
            near = [here]
        else:
            near = difflib.get_close_matches(keyword[1], signature.parameters, 1)
    bare = signature.replace(
        parameters=[
            p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()
        ],
        return_annotation=inspect.Signature.empty,
    )
    name = getattr(function, "__name__", "")
    return f"{near[0]}=...; {name}{bare}" if near else f"{name}{bare}"
