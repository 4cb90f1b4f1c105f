"""An output may use an input's memory from the step after the last that reads the input."""

from jitney.compiler.input_output_alias import InputOutputAlias


def test_reads_come_before_writes():
    alias = InputOutputAlias(last_reads=(2, -1), first_writes=(0, 2, 3), pairs=frozenset())
    allowed = [[alias.allows(i, j) for j in range(3)] for i in range(2)]
    assert allowed == [[False, False, True], [True, True, True]]


def test_pairs_may_share_the_step_that_accesses_both():
    alias = InputOutputAlias((2, 2), (2, 2), frozenset([(0, 1)]))
    assert alias.allows(0, 1)
    assert not alias.allows(1, 0) and not alias.allows(0, 0)
