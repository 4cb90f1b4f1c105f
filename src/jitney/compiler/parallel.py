"""From how much work threads of the runtime's pay: the numbers, in one place."""

# Cost of a kernel (of its body, by points; see `cost.py`), or of a batch of calls, below which threads
# cost more than they bring.
PARALLEL_ABOVE = 400_000

# Floating-point operations of a product below which one thread is as fast: each part packs the whole
# second operand.
GEMM_PARALLEL_ABOVE = 30_000_000
