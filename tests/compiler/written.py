"""Functions that an emitter has written, compiled by LLVM for the host and called on arrays."""

import ctypes

import numpy as np

from jitney.compiler.codegen.access import load_vector
from jitney.compiler.llvm import engine
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import host
from jitney.compiler.llvm.values import Value


@ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
def goes_on(_):
    """A poll for signals that never ends a program."""
    return 1


def loaded(text, outlined=(), known=()):
    """The machine code of a module, with the functions `outlined` of other modules."""
    calls = {name: loaded(f.text, f.calls) for name, f in dict(outlined).items()}
    poll = {"jitney.poll": ctypes.cast(goes_on, ctypes.c_void_p).value}
    return engine.load(text, {**poll, **dict(known), **engine.addresses(calls)}, calls)


def call(code, name, *arrays, numbers=()):
    """Calls function `name` on the memory of arrays, then numbers; returns its int32."""
    types = [ctypes.c_void_p] * len(arrays) + [ctypes.c_int64] * len(numbers)
    function = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(code.address(name))
    return function(*[a.ctypes.data for a in arrays], *numbers)


def run(write, *arrays, known=()):
    """Runs what `write(emitter, *pointers)` writes on the memory of the arrays; returns its int32."""
    e = Emitter(host())
    pointers = [Value(f"%p{k}", "ptr") for k in range(len(arrays))]
    write(e, *pointers)
    params = ", ".join(["ptr %call", *map(repr, pointers)])
    text = "\n".join(
        [f"define i32 @main({params}) nounwind {{", "entry:", *e.lines, "  ret i32 1", "}"]
    )
    code = loaded(f"{text}\n{e.module_text()}", e.outlined, known)
    return call(code, "main", np.zeros(1), *arrays)


def vector(e, pointer, kind, lanes):
    """The `lanes` elements at a pointer."""
    return load_vector(e, pointer, kind, lanes, None)
