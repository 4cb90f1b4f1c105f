"""`jax._src.lax.control_flow.loops`: splitting leading axes into batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jitney.core.pytree import pytrees
from jitney.numpy.promotion import ensure_arraylike

if TYPE_CHECKING:
    from jitney.core.typing import PyTree


def batch_and_remainder(x: PyTree, batch_size: int) -> tuple[object, object]:
    """Splits the leading axis of all leaves into batches and a remainder.

    Args:
      x: a pytree of arrays whose leading axes have the same size, n.
      batch_size: batch size b, at least 1.

    Returns: (a pytree of arrays [n // b, b, ...], a pytree of arrays [n % b, ...]). A pytree whose
      leading axes would have size 0 is replaced by None.

    Raises:
      ValueError: if there are no leaves, or the sizes of leading axes differ.
    """
    leaves, structure = pytrees.tree_flatten(x)
    arrays = [ensure_arraylike("batch_and_remainder", leaf) for leaf in leaves]
    lengths = {a.shape[0] for a in arrays}
    if len(lengths) != 1:
        raise ValueError(f"leading axes must have the same size, but got sizes {sorted(lengths)}")
    count, rest = divmod(lengths.pop(), batch_size)
    whole = count * batch_size
    batches: list[Any] = [a[:whole].reshape(count, batch_size, *a.shape[1:]) for a in arrays]
    remainder = structure.unflatten([a[whole:] for a in arrays]) if rest else None
    return structure.unflatten(batches) if count else None, remainder
