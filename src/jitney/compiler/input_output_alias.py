"""Input-output aliases: which outputs of a program can reuse the memory of which donated inputs.

The relation could have an entry for each pair of an input and an output, of which a training step
has hundreds each. It is represented instead by one number per input, the step that reads it last,
and one number per output, the step that writes it first. `plan/aliasing.py` computes these numbers.
"""

from __future__ import annotations

from typing import NamedTuple


class InputOutputAlias(NamedTuple):
    """The pairs of donated inputs and outputs that can share memory.

    Attributes:
      last_reads: for each input, the number of the last step that reads it; -1 if there is none.
      first_writes: for each output, the number of the first step that writes it.
      pairs: further pairs that can share memory although one step accesses both: it overwrites only
        the element of the input that it has just read, or it copies the input to the output.
    """

    last_reads: tuple[int, ...]
    first_writes: tuple[int, ...]
    pairs: frozenset[tuple[int, int]]

    def allows(self, i: int, j: int) -> bool:
        """Returns whether output `j` can use the memory of input `i`.

        The caller has to check that their types are equal.
        """
        return self.last_reads[i] < self.first_writes[j] or (i, j) in self.pairs
