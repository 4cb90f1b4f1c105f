"""Bodies of `scan` with operands and results in another order.

They are made once for each body, so that what is made of them is found again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitney.core.jaxpr import ClosedJaxpr
from jitney.core.memo import memoize_by_identity


def reordered(closed: ClosedJaxpr, operands: Sequence[int], results: Sequence[int]) -> ClosedJaxpr:
    """`closed` with operands and results in another order: position i takes the one numbered so."""
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
    """Returns a body with each kind's derivatives behind the kind itself, as loops want it.

    Operands: consts carry xs dconsts dcarry dxs -> consts dconsts carry dcarry xs dxs.
    Results: carry ys dcarry dys -> carry dcarry ys dys.

    Args:
      closed: the body.
      sizes: how many operands there are of each kind.
      n_out: the number of carries and rows together.
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
