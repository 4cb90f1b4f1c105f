"""Loads that are contiguous along an axis other than the lanes', as in a transposed array.

They are read block by block: a square block is transposed to the stack, and the lanes are loaded
from there. Memory is then read and written along its rows, and no lane is loaded by itself.
"""

from __future__ import annotations

from jitney.compiler.cost import COSTS
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Affine, Kernel
from jitney.core.util.record import record, replace

Place = tuple[int, Affine]


@record(frozen=True)
class Block:
    """The transposed block of one buffer.

    Attributes:
      param: the buffer.
      index: the index of the first element, or of the first of two.
      count: adjacent elements that stay together: 2 for the components of complex numbers.
    """

    param: int
    index: Affine
    count: int


@record(frozen=True)
class BlockTransposition:
    """The loads of a kernel that are made from transposed blocks.

    Attributes:
      axis: the axis along which they are contiguous.
      side: size of a block along this axis and along the lanes.
      blocks: the blocks.
    """

    axis: int
    side: int
    blocks: tuple[Block, ...]

    def places(self) -> dict[Place, tuple[int, int]]:
        """Returns for each position loaded from a block its number, and the element in it."""
        return {
            (block.param, replace(block.index, offset=block.index.offset + which)): (number, which)
            for number, block in enumerate(self.blocks)
            for which in range(block.count)
        }


def find_block_transposition(kernel: Kernel, vector: int, axis: int) -> BlockTransposition | None:
    """Returns the loads of `kernel` contiguous along `axis` and far apart along `vector`."""
    enough = min(kernel.extents[vector], kernel.extents[axis]) >= COSTS.transposed_extent
    if not enough or kernel.points < COSTS.transposed_points:
        return None
    written = {o.param for o in kernel.outputs}
    places: set[Place] = set()
    for s in kernel.body:
        if not isinstance(s, ir.Load) or s.param in written or s.index.terms:
            continue
        if abs(s.index.coefficients[vector]) > COSTS.picked_stride:
            places.add((s.param, s.index))
    blocks: list[Block] = []
    seconds: set[Place] = set()  # second elements: a position is in one block
    for param, index in sorted(places, key=_offset):
        stride = abs(index.coefficients[axis])
        second = param, replace(index, offset=index.offset + 1)
        if stride == 1:
            blocks.append(Block(param, index, 1))
        elif stride == 2 and second in places and (param, index) not in seconds:
            blocks.append(Block(param, index, 2))
            seconds.add(second)
    if not blocks or len(blocks) > COSTS.transposed_blocks:
        return None
    widest = max(block.count * kernel.params[block.param].itemsize for block in blocks)
    side = COSTS.transposed_side
    if widest > side // 16:
        side //= 2
    return BlockTransposition(axis, side, tuple(blocks))


def _offset(place: Place) -> tuple[object, ...]:
    param, index = place
    return (param, index.coefficients, index.offset)
