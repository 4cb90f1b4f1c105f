"""What a compiled program knows of the memory that its outputs may share with donated inputs.

The relation has inputs times outputs, hundreds of each in a step of training: the steps that read and
write them say the same in a number for each. `plan/aliasing.py` finds them.
"""

from __future__ import annotations

from typing import NamedTuple


class InputOutputAlias(NamedTuple):
    """Says in the memory of which inputs an output may lie.

    Attributes:
      last_reads: the step of the program that reads each input last; -1 if none does.
      first_writes: the step that writes each output first.
      pairs: inputs and outputs of one step that may share memory all the same: it reads of the input
        only the element that it is about to write, or only copies one to the other.
    """

    last_reads: tuple[int, ...]
    first_writes: tuple[int, ...]
    pairs: frozenset[tuple[int, int]]

    def allows(self, i: int, j: int) -> bool:
        """Returns whether output `j` may lie in the memory of input `i`, if they have one type."""
        return self.last_reads[i] < self.first_writes[j] or (i, j) in self.pairs
