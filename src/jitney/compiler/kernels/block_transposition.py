"""Block transposition, for loads that are contiguous along an axis other than the vector axis.

Such loads occur if a kernel reads an array and its transpose. A square block of the array is
transposed into a buffer on the stack, from which vectors are loaded. Memory is then accessed along
contiguous rows, and no lane has to be loaded separately.
"""

from __future__ import annotations

from jitney.compiler.cost import COSTS
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Affine, Kernel
from jitney.core.util.record import record, replace

Place = tuple[int, Affine]


@record(frozen=True)
class Block:
    """The transposed block of a buffer.

    Attributes:
      param: the number of the buffer among the kernel's parameters.
      index: the index of the first element, or of the first of two components.
      count: the number of adjacent elements that stay together; 2 for the components of complex
        numbers.
    """

    param: int
    index: Affine
    count: int


@record(frozen=True)
class BlockTransposition:
    """The loads of a kernel that read transposed blocks.

    Attributes:
      axis: the axis along which the loads are contiguous.
      side: the size of a block, along this axis and along the vector axis.
      blocks: the blocks.
    """

    axis: int
    side: int
    blocks: tuple[Block, ...]

    def places(self) -> dict[Place, tuple[int, int]]:
        """Returns a map from each position that is loaded from a block.

        The values are the number of the block, and the number of the element among the `count`
        elements that stay together.
        """
        return {
            (block.param, replace(block.index, offset=block.index.offset + which)): (number, which)
            for number, block in enumerate(self.blocks)
            for which in range(block.count)
        }


def find_block_transposition(kernel: Kernel, vector: int, axis: int) -> BlockTransposition | None:
    """Returns the loads of `kernel` that are contiguous along `axis` and strided along `vector`.

    Returns None if there are no such loads, or if transposing blocks for them does not pay off.
    """
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
    seconds: set[Place] = set()  # second components: each position belongs to one block
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
