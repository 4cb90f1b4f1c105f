"""Bodies of `scan` with permuted operands and results.

Each permutation of a body is created only once, so that caches with the new body as key are
effective.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitney.core.program.jaxpr import ClosedJaxpr
from jitney.core.program.memo import memoize_by_identity


def reordered(closed: ClosedJaxpr, operands: Sequence[int], results: Sequence[int]) -> ClosedJaxpr:
    """Permutes the operands and results of `closed`.

    Operand i of the new program is operand `operands[i]` of `closed`, and its result i is result
    `results[i]`. Results that are not listed are dropped.
    """
    return _reordered(closed, tuple(operands), tuple(results))


@memoize_by_identity
def _reordered(
    closed: ClosedJaxpr, operands: tuple[int, ...], results: tuple[int, ...]
) -> ClosedJaxpr:
    jaxpr = closed.jaxpr
    return ClosedJaxpr(
        jaxpr.replace(
            invars=[jaxpr.invars[i] for i in operands],
            outvars=[jaxpr.outvars[i] for i in results],
            debug_info=jaxpr.debug_info._replace(arg_names=(None,) * len(operands)),
        ),
        closed.consts,
    )


def regrouped(closed: ClosedJaxpr, sizes: Sequence[int], n_out: int) -> ClosedJaxpr:
    """Returns a body in which the derivatives of each group of operands follow that group.

    Operands: consts carry xs dconsts dcarry dxs -> consts dconsts carry dcarry xs dxs.
    Results: carry ys dcarry dys -> carry dcarry ys dys.

    Args:
      closed: the body.
      sizes: the number of operands in each group, in the old order.
      n_out: number of results without derivatives.
    """
    starts = np.cumsum([0, *sizes])
    group = [list(range(starts[k], starts[k + 1])) for k in range(6)]
    operands = group[0] + group[3] + group[1] + group[4] + group[2] + group[5]
    n_carry, n_dcarry = sizes[1], sizes[4]
    results = [
        *range(n_carry),
        *range(n_out, n_out + n_dcarry),
        *range(n_carry, n_out),
        *range(n_out + n_dcarry, len(closed.out_avals)),
    ]
    return reordered(closed, operands, results)
