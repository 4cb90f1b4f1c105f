"""Resharding: collectives from one spec to another, and windows of neighbors' shards.

This module builds nodes of one device's program. Values that differ between devices are computed
from the index of the device (`axis_index`), so that all devices run the same program (SPMD).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from jitney.compiler.hlo import ir
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.partition.layout import Mesh, Names
from jitney.compiler.hlo.sharding_propagation import Spec
from jitney.core.util.record import record

_INT32 = np.dtype(np.int32)


@record(frozen=True)
class Partial:
    """A reduction that a value still needs: by the monoid `fn`, over devices along `names`."""

    fn: ir.Monoid
    names: Names


class Movement:
    """Builds nodes that move data, in the program of one device of a mesh."""

    def __init__(self, b: Builder, mesh: Mesh) -> None:
        self.b = b
        self.mesh = mesh

    # --- collectives ------------------------------------------------------------------------------

    def collective(
        self, kind: ir.CollectiveKind, names: Names, params: ir.Params, *args: ir.Node
    ) -> ir.Node:
        """Returns a collective among the devices that differ only along `names`."""
        return self.b.collective(kind, self.mesh.axes(names), params, args)

    def number(self, names: Names) -> ir.Node:
        """Returns the index of this device along `names`, an int32 scalar."""
        return self.collective("axis_index", names, ())

    def offset(self, names: Names, step: int, first: int = 0) -> ir.Node:
        """Returns the device's index times `step`, plus `first`."""
        b = self.b
        scaled = b.apply("mul", self.number(names), b.constant(np.int32(step)))
        return b.apply("add", scaled, b.constant(np.int32(first))) if first else scaled

    def indices(self, shape: ir.Shape, dim: int, names: Names, dtype: np.dtype) -> ir.Node:
        """Returns the global index along `dim` of each element of a shard."""
        b = self.b
        local = b.iota(dtype, shape, dim)
        if not names:
            return local
        start = b.convert(self.offset(names, shape[dim]), dtype)
        return b.apply("add", local, b.broadcast(start, shape, ()))

    def reduced(self, x: ir.Node, partial: Partial) -> ir.Node:
        """Returns `x` reduced over all devices that have addends."""
        return self.collective("all_reduce", partial.names, (("fn", partial.fn),), x)

    # --- from one spec to another -----------------------------------------------------------------

    def ways(self, x: ir.Node, old: Spec, new: Spec, partial: Partial | None) -> Iterator[ir.Node]:
        """Yields alternative ways of resharding `x` from `old` to `new`."""
        if partial is not None:
            yield self.moved(self.reduced(x, partial), old, new)
            yield from self._scattered(x, old, new, partial)
            return
        yield self.moved(x, old, new)
        if old != new and self.mesh.counts(old) == self.mesh.counts(new):
            yield self._permuted(x, old, new)

    def _scattered(self, x: ir.Node, old: Spec, new: Spec, partial: Partial) -> Iterator[ir.Node]:
        """Yields reduce-scatters, in which a device reduces only its own shard.

        They are possible if `new` is sharded along the axes of the partial value.
        """
        n = len(partial.names)
        for dim, (has, wants) in enumerate(zip(old, new, strict=True)):
            if wants[: len(has)] == has and wants[len(has) : len(has) + n] == partial.names:
                params = (("fn", partial.fn), ("dim", dim))
                part = self.collective("reduce_scatter", partial.names, params, x)
                yield self.moved(part, _with(old, dim, (*has, *partial.names)), new)

    def moved(self, x: ir.Node, old: Spec, new: Spec) -> ir.Node:
        """Reshards `x` from `old` to `new`: by slicing first, then all-to-all, then all-gather."""
        x, old = self._cut(x, old, new)
        for dim in range(len(old)):
            kept = _common(old[dim], new[dim])
            gone = old[dim][kept:]
            if not gone:
                continue
            to = next(
                (k for k in range(len(new)) if k != dim and _gains(old[k], new[k], gone)), None
            )
            if to is None:
                x = self.collective("all_gather", gone, (("dim", dim),), x)
            else:
                params = (("split_dim", to), ("concat_dim", dim))
                x = self.collective("all_to_all", gone, params, x)
                old = _with(old, to, (*old[to], *gone))
            old = _with(old, dim, old[dim][:kept])
            x, old = self._cut(x, old, new)
        assert old == new, f"{old} did not become {new}"
        return x

    def _cut(self, x: ir.Node, old: Spec, new: Spec) -> tuple[ir.Node, Spec]:
        """Slices the device's own shard, along mesh axes that do not shard any axis yet."""
        used = {name for names in old for name in names}
        for dim, (has, wants) in enumerate(zip(old, new, strict=True)):
            added = wants[len(has) :]
            if added and wants[: len(has)] == has and not used.intersection(added):
                x = self.part(x, dim, added)
                old = _with(old, dim, wants)
        return x, old

    def part(self, x: ir.Node, dim: int, names: Names) -> ir.Node:
        """Returns the device's shard of `x` along `dim`."""
        n = x.shape[dim] // self.mesh.parts(names)
        sizes = (*x.shape[:dim], n, *x.shape[dim + 1 :])
        return self.dynamic_slice(x, dim, self.offset(names, n), sizes)

    def dynamic_slice(self, x: ir.Node, dim: int, start: ir.Node, sizes: ir.Shape) -> ir.Node:
        """Returns the block of shape `sizes` that begins at `start` along `dim`."""
        zero = self.b.constant(np.int32(0))
        starts = [start if k == dim else zero for k in range(len(sizes))]
        return self.b.dynamic_slice(x, starts, sizes)

    def _permuted(self, x: ir.Node, old: Spec, new: Spec) -> ir.Node:
        """Exchanges complete shards: the devices have the same shards in another order."""
        mesh = self.mesh
        changed = {n for a, b in zip(old, new, strict=True) if a != b for n in (*a, *b)}
        names = tuple([name for name in mesh.extents if name in changed])
        places = [dict.fromkeys(mesh.extents, 0) | place for place in mesh.devices(names)]
        owners: dict[tuple[int, ...], list[int]] = {}
        for number, place in enumerate(places):
            owners.setdefault(mesh.tile(place, old), []).append(number)
        pairs: list[tuple[int, int]] = []
        for number, place in enumerate(places):
            sources = owners[mesh.tile(place, new)]
            source = number if number in sources else sources[0]
            sources.remove(source)
            pairs.append((source, number))
        if len({a for a, _ in pairs}) < len(places):
            return self.moved(x, old, new)
        return self.collective("permute", names, (("pairs", tuple(pairs)),), x)

    # --- windows ----------------------------------------------------------------------------------

    def window(
        self, x: ir.Node, dim: int, names: Names, step: int, first: int, length: int,
        periodic: bool = False,
    ) -> ir.Node:  # fmt: skip
        """Returns a window of the global tensor on each device along `names`.

        Device k gets `length` elements, starting at k * step + first. `x` is sharded along `names`.
        Elements out of bounds are zero, or wrap around if `periodic`. Devices send only those
        elements of their shards that other devices need (halos).
        """
        n, size = self.mesh.parts(names), x.shape[dim]
        begins = [k * step + first for k in range(n)]
        shifts = range(
            min([a // size - k for k, a in enumerate(begins)]),
            max([(a + length - 1) // size - k for k, a in enumerate(begins)]) + 1,
        )
        aligned = step == size
        parts: list[ir.Node] = []
        for shift in shifts:
            places = [(k, a - (k + shift) * size) for k, a in enumerate(begins)]
            needs = [(k + shift, k, max(a, 0), min(a + length, size)) for k, a in places]
            lo = min([low for _, _, low, high in needs if low < high], default=0)
            hi = max([high for _, _, low, high in needs if low < high], default=0)
            pairs = [
                (j % n, k) for j, k, low, high in needs if low < high and (periodic or 0 <= j < n)
            ]
            piece = self._sent(x, dim, names, lo, hi, pairs)
            if aligned:
                parts.append(piece)
            else:
                parts.append(self._padded(piece, dim, lo, size - hi))
        out = self.b.concatenate(parts, dim)
        if aligned:
            return out
        begin = self.offset(names, step - size, first - shifts[0] * size)
        sizes = (*x.shape[:dim], length, *x.shape[dim + 1 :])
        return self.dynamic_slice(out, dim, begin, sizes)

    def _sent(
        self, x: ir.Node, dim: int, names: Names, lo: int, hi: int,
        pairs: Sequence[tuple[int, int]],
    ) -> ir.Node:  # fmt: skip
        """Returns elements lo, ..., hi - 1 of the shard of another device.

        `pairs` are the devices that send and receive; other devices get zeros.
        """
        if not pairs:
            shape = (*x.shape[:dim], hi - lo, *x.shape[dim + 1 :])
            return self.b.full(shape, 0, x.dtype)
        piece = self.cut(x, dim, lo, hi)
        if all([source == target for source, target in pairs]):
            return piece
        return self.collective("permute", names, (("pairs", tuple(pairs)),), piece)

    def collected(self, x: ir.Node, dim: int, names: Names, start: int, limit: int) -> ir.Node:
        """Returns the global elements start, ..., limit - 1 on every device.

        The owners of the elements broadcast them.
        """
        size = x.shape[dim]
        parts: list[ir.Node] = []
        for owner in range(start // size, -(-limit // size)):
            lo, hi = max(start - owner * size, 0), min(limit - owner * size, size)
            piece = self.cut(x, dim, lo, hi)
            parts.append(self.collective("broadcast", names, (("source", owner),), piece))
        return self.b.concatenate(parts, dim)

    def mirrored(self, x: ir.Node, names: Names) -> ir.Node:
        """Returns the shard of the device at the mirrored position along `names`."""
        n = self.mesh.parts(names)
        pairs = tuple([(k, n - 1 - k) for k in range(n)])
        return self.collective("permute", names, (("pairs", pairs),), x)

    def cut(self, x: ir.Node, dim: int, lo: int, hi: int, stride: int = 1) -> ir.Node:
        """Returns elements lo, lo + stride, ... below hi of `x` along `dim`."""
        rank = len(x.shape)
        starts, limits, strides = [0] * rank, list(x.shape), [1] * rank
        starts[dim], limits[dim], strides[dim] = lo, hi, stride
        return self.b.slice(x, starts, limits, strides)

    def _padded(self, x: ir.Node, dim: int, low: int, high: int) -> ir.Node:
        """Pads `x` with zeros along `dim`."""
        rank = len(x.shape)
        lows, highs = [0] * rank, [0] * rank
        lows[dim], highs[dim] = low, high
        zero = self.b.full((), 0, x.dtype)
        return self.b.pad(x, zero, lows, highs, [0] * rank)

    def inside(self, shape: ir.Shape, dim: int, names: Names, start: int, limit: int) -> ir.Node:
        """Returns a mask of the elements with global indices start, ..., limit - 1 along `dim`."""
        b = self.b
        index = self.indices(shape, dim, names, _INT32)
        tests: list[ir.Node] = []
        if start > 0:
            tests.append(b.apply("ge", index, b.full(shape, start, _INT32)))
        if limit < shape[dim] * self.mesh.parts(names):
            tests.append(b.apply("lt", index, b.full(shape, limit, _INT32)))
        if not tests:
            return b.full(shape, True, np.bool_)
        return tests[0] if len(tests) == 1 else b.apply("and", *tests)


def _with(spec: Spec, dim: int, names: Names) -> Spec:
    return (*spec[:dim], names, *spec[dim + 1 :])


def _common(old: Names, new: Names) -> int:
    """Returns the length of the common prefix."""
    n = 0
    while n < min(len(old), len(new)) and old[n] == new[n]:
        n += 1
    return n


def _gains(has: Names, wants: Names, names: Names) -> bool:
    """Returns whether an axis sharded as `has` is to be sharded along `names` next."""
    return wants[: len(has)] == has and wants[len(has) : len(has) + len(names)] == names
