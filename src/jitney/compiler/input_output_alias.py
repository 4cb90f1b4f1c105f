"""Which outputs of a compiled program may use the memory of which donated inputs.

The relation has inputs times outputs entries, hundreds of each in a training step. The steps that
read inputs last and write outputs first represent it by one number for each of them.
`plan/aliasing.py` computes them.
"""

from __future__ import annotations

from typing import NamedTuple


class InputOutputAlias(NamedTuple):
    """The pairs of donated inputs and outputs that may share memory.

    Attributes:
      last_reads: the step of the program that reads each input last; -1 if none does.
      first_writes: the step that writes each output first.
      pairs: further inputs and outputs that may share memory although one step accesses both: it
        reads only the element of the input that it is about to write, or copies one to the other.
    """

    last_reads: tuple[int, ...]
    first_writes: tuple[int, ...]
    pairs: frozenset[tuple[int, int]]

    def allows(self, i: int, j: int) -> bool:
        """Returns whether output `j` may use the memory of input `i`.

        The caller checks that their types are equal.
        """
        return self.last_reads[i] < self.first_writes[j] or (i, j) in self.pairs
