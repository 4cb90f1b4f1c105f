"""`pvary`: a value that is the same for all devices, as one that may differ from device to device.

It is the one operation that the core itself applies: where an operation is recorded whose operands vary
along different axes (`core.varying`). Its rules stand in `primitives.parallel.pvary`.
"""

from __future__ import annotations

from jitney.core.primitive import declare

pvary_p = declare("pvary", linear=True)
