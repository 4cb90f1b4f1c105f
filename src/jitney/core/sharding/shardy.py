"""Shardings in the notation of Shardy, the MLIR dialect that JAX's lowered programs use."""

from __future__ import annotations

import re

from jitney.core.util.record import record


@record(frozen=True)
class SdyArray:
    """The sharding of an array over a mesh.

    Attributes:
      mesh_shape: the name and size of each mesh axis.
      dim_shardings: the mesh axes that shard each array axis; None where the compiler may choose.
      device_ids: the ids of the mesh's devices, if their order is not 0, 1, 2 ...
    """

    mesh_shape: tuple[tuple[str, int], ...]
    dim_shardings: tuple[tuple[str, ...] | None, ...]
    device_ids: tuple[int, ...] = ()

    def __repr__(self) -> str:
        mesh = ", ".join([f'"{name}"={n}' for name, n in self.mesh_shape])
        order = f", device_ids=[{', '.join(map(str, self.device_ids))}]" if self.device_ids else ""
        axes = ", ".join([_entry(names or (), names is None) for names in self.dim_shardings])
        return f"#sdy.sharding<mesh<[{mesh}]{order}>, [{axes}]>"


@record(frozen=True)
class TensorSharding:
    """The sharding of a tensor in a program over the program's mesh.

        sharding   ::= `<@mesh, [` dimension, ... `]` (`, replicated={` axis, ... `}`)?
                       (`, unreduced={` axis, ... `}`)? `>`
        dimension  ::= `{` axis, ... `}` | `{` axis, ... `, ?}` | `{?}`

    Attributes:
      dimensions: the mesh axes that shard each dimension, major first.
      is_open: for each dimension, whether further axes may shard it.
      replicated: the axes that must not shard any dimension.
      unreduced: the axes along which the tensor is unreduced.
    """

    dimensions: tuple[tuple[str, ...], ...]
    is_open: tuple[bool, ...]
    replicated: tuple[str, ...] = ()
    unreduced: tuple[str, ...] = ()

    def __repr__(self) -> str:
        entries = map(_entry, self.dimensions, self.is_open)
        sets = {"replicated": self.replicated, "unreduced": self.unreduced}
        axis_sets = [f", {word}={_entry(names)}" for word, names in sets.items() if names]
        return f"<@mesh, [{', '.join(entries)}]{''.join(axis_sets)}>"


def parse_tensor_sharding(text: str) -> TensorSharding:
    """Parses the text of a tensor sharding.

    Raises:
      ValueError: if the text is not valid.
    """
    match = _SHARDING.fullmatch(text)
    if match is None:
        raise ValueError(f"a sharding must be of the form <@mesh, [{{...}}, ...]>, but is {text}")
    entries = [_parsed(entry) for entry in _ENTRY.findall(match["dimensions"])]
    return TensorSharding(
        tuple([names for names, _ in entries]),
        tuple([is_open for _, is_open in entries]),
        _parsed(match["replicated"] or "")[0],
        _parsed(match["unreduced"] or "")[0],
    )


_ENTRY = re.compile(r"\{[^{}]*\}")
_SHARDING = re.compile(
    r"<@mesh, \[(?P<dimensions>[^\[\]]*)\]"
    r"(, replicated=(?P<replicated>\{[^{}]*\}))?(, unreduced=(?P<unreduced>\{[^{}]*\}))?>"
)


def _parsed(entry: str) -> tuple[tuple[str, ...], bool]:
    return tuple(re.findall(r'"([^"]*)"', entry)), entry.endswith("?}")


def _entry(names: tuple[str, ...], is_open: bool = False) -> str:
    return "{" + ", ".join([f'"{name}"' for name in names] + ["?"] * is_open) + "}"
