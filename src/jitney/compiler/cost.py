"""The cost model: all constants by which the compiler chooses between implementations, with units.

    COSTS.function("exp")        COSTS.store_above        model(processor)

Units. An *addition* is one addition of SIMD vectors that are already in registers; a nanosecond has
a few. A *point* is one point of an iteration domain. An *instruction* is one LLVM instruction on
values of one register (see `scalar/effort.py`), the unit of LLVM's own time: 30 to 60 us each.

`COSTS` is the model of `PROCESSOR`. All decisions follow it, whichever processor runs the program,
so that kernels, and with them the order of sums and the last bits of results, are the same
everywhere. Vector widths in the code are those of the target. A device with other costs has another
model.

Where the values come from: a measurement in a comment belongs to that constant. The others are
round numbers, chosen so that the cases of `benchmarks` run fast on the machine that
`benchmarks/results.md` names; bounds on LLVM's time are chosen for the time of first calls
(`benchmarks/compile_times.py`). Sizes are thresholds (`core/util/thresholds.py`), which a setting
lowers for tests.
"""

from __future__ import annotations

from jitney.compiler.scalar_functions import lookup
from jitney.core.util.record import record
from jitney.core.util.thresholds import threshold


@record(frozen=True)
class Processor:
    """The properties of a processor that costs depend on.

    Attributes:
      vector_bits: bits of the vector registers that decisions assume.
      widest_bits: bits of the widest vectors that one instruction, or two side by side, operate on.
      vector_registers: number of vector registers.
    """

    vector_bits: int
    widest_bits: int
    vector_registers: int


@record(frozen=True)
class CostModel:
    """The constants for one processor; those that follow from its registers are properties."""

    processor: Processor

    # --- vectors: cost of kernels' loops, in additions (`kernels/schedule.py`) ----------------------

    iteration: float = 1.0  # of a kernel's loop
    gathered_lane: float = 0.8  # a lane that is loaded by itself
    scattered_lane: float = 3.5  # a lane that is stored by itself
    # Largest stride between lanes at which strided loads select lanes of contiguous vectors; the
    # second without masked loads.
    picked_stride: int = 8
    picked_stride_unmasked: int = 4
    # Blocks that are transposed before lanes are loaded from them
    # (`kernels/block_transposition.py`): elements of a side (half as many of 64 bits), blocks of one
    # kernel, cost of a vector, and the sizes and points from which they pay off.
    transposed_side: int = 64
    transposed_blocks: int = 4
    transposed_vector: float = 4.0
    transposed_extent: int = threshold(16, small=4)
    transposed_points: int = threshold(1 << 12, small=32)
    halving: float = 3.0  # per vector, to reduce its lanes
    gather: int = 4  # an element at a computed index
    loop_trips: int = 100  # assumed iterations of a loop in a loop kernel
    # Loops in registers or as steps (`plan/loop_costs.py`), in 0.27 ns, as measured on twenty loops:
    # a launch within a loop, and what it takes more for a product; an operation of at most an
    # addition, in registers; a scalar function, compared with one lane of a vector function; an
    # operation on 16-bit floats, with its rounding; and the ratio of both forms up to which a loop is
    # in registers.
    loop_launch: int = 40
    loop_product: int = 30
    register_operation: float = 0.4
    scalar_function: float = 1.5
    half_operation: int = 6
    register_margin: float = 0.9
    # Effort of a loop kernel, 40 ms, above which a call must save time for each unit of it: what
    # LLVM takes is repaid after some 10,000 calls.
    light_effort: int = 1000
    saved_per_effort: int = 15
    # Loop unrolling must reduce a kernel's time to this share of it.
    unrolled_share: float = 0.9
    short_axis: int = 4  # elements of an axis up to which kernels may unroll it
    # Points of a reduction above which several neighboring results are computed at once.
    jam_above: int = threshold(1 << 16, small=16)
    # Cost of a reduction's body up to which it has four vector accumulators, and up to which eight:
    # the sum of products of two loads.
    light_body: int = 16
    lightest_body: int = 5
    accumulators: int = 4
    # Elements along the vector axis from which there are four, if lanes are not reduced, and from
    # which there are eight.
    accumulators_above: int = threshold(64, small=16)
    more_accumulators_above: int = threshold(128, small=32)

    # --- register tiles of contractions (`kernels/tiles.py`, `hlo/contractions.py`) -----------------

    tile_rows: int = 4  # of a tile with several vectors of columns
    narrow_tile_rows: int = 8  # of a tile with few columns
    tile_sums: int = 16  # accumulator vectors, at most: two a cycle, each waiting four for the last
    # Products from which tiles are worth LLVM's time, tens of us, where BLAS is an alternative.
    tiled_products: int = threshold(1 << 21, small=64)
    tiled_operand: int = 1 << 17  # bytes of the second operand, at most: a share of the L2 cache
    # Elements of a row that is contracted along the lanes, at least.
    tiled_row: int = threshold(256, small=16)
    tile_columns: int = threshold(16, small=4)  # columns of the second operand, at least
    # Rows of the first operand from which transposing the second pays off.
    transposed_rows: int = threshold(64, small=4)

    # --- products of narrow dtypes (`hlo/narrow_products.py`, `tile_products.py`) --------------------

    # Products from which packing the operands into blocks pays off.
    narrow_products: int = threshold(1 << 16, small=32)
    narrow_padding: int = 4  # ratio of the products of padded blocks to those needed, at most
    narrow_parts: int = 8  # BLAS calls, each over as many indices as keep sums exact, at most
    # Bytes of the columns that each block of rows is multiplied by: a share of the L2 cache.
    tile_panel: int = threshold(1 << 20, small=1 << 11)
    tile_product: int = 16  # cycles of one tile instruction

    # --- memory: recomputing values instead of storing them (`fusion`, `plan`) ----------------------

    store_above: int = 4  # additions: a value with several using kernels is stored if it costs more
    # The same for a value used by code without vectors, which works element by element: a store and
    # a load take as long as two or three scalar operations (a scatter of 1e6 elements: 0.88 ms with
    # three operations fused, 1.18 ms before).
    vectorize_above: int = 8
    # The same for rows that exceed the caches: the cost in additions and the number of access paths
    # up to which, and the bytes from which, values are computed again (softmax of 4,000,000
    # elements: 2.24 ms stored, 1.51 ms recomputed).
    recomputed_below: int = 40
    recomputed_paths: int = 3
    recomputed_bytes: int = threshold(1 << 22, small=64)
    max_access_paths: int = 16  # distinct indices at which one kernel may compute the same node
    max_parts: int = 3  # operands of a fused concatenation: each takes kernels of its own
    max_roots: int = threshold(12, small=4)  # of one fusion
    # Parts into which the iteration domain of a kernel is split, at most.
    max_domains: int = threshold(12, small=4)
    max_cost: int = 10_000  # additions: sums over shared operands would grow without bound
    # Bytes of a padded operand from which only its border is filled, by one kernel for each side.
    filled_border: int = threshold(1 << 20, small=64)
    # Bytes of a carry above which buffers are swapped instead of copied.
    swap_above: int = threshold(1024, small=16)

    # --- the arena (`plan/memory.py`) ---------------------------------------------------------------

    # Bytes of the arena above which fragmentation matters, the ratio of the arena to the peak of
    # live bytes that is then acceptable, and the number of buffers that are placed by size, which
    # takes quadratic time.
    tight_arena: int = threshold(1 << 20, small=256)
    loose_arena: float = 1.03
    placed_by_size: int = threshold(256, small=8)

    # --- split reductions (`kernels/split_reduction.py`) --------------------------------------------

    # Points of a reduction above which it is split.
    split_above: int = threshold(1 << 17, small=32)
    # Points of one part: independent of the number of threads.
    split_points: int = threshold(1 << 14, small=16)
    split_results: int = threshold(512, small=8)  # with more results, threads share these instead
    # Points of a part for each result, at least: partial results are written and read.
    split_least: int = threshold(64, small=4)

    # Column reductions (`kernels/schedule.py`): rows that all lanes reduce together; the lanes,
    # bytes of a row and bytes of the matrix from which they do; columns per thread, at least.
    reduced_strip: int = threshold(16, small=4)
    column_lanes: int = threshold(256, small=8)
    column_row: int = threshold(1 << 10, small=32)
    column_bytes: int = threshold(1 << 20, small=128)
    column_grain: int = threshold(512, small=64)

    # --- code of kernels (`codegen/kernel_key.py`) --------------------------------------------------

    lane_chunk: int = 64  # threads get multiples of it: whole vectors
    shortest_vector: int = 4  # lanes; loops for fewer are scalar

    # --- strip mining of launches (`plan/row_strips.py`) --------------------------------------------

    # Bytes that the launches of one strip access: half of an L2 cache.
    strip_bytes: int = threshold(1 << 18, small=1 << 10)
    # Bytes of the buffers that only the strip uses, at most: they are on a thread's stack.
    strip_stack: int = threshold(1 << 17, small=1 << 9)
    # Bytes reused from caches, from which strips pay off.
    strip_above: int = threshold(1 << 21, small=64)
    # Bytes of the largest buffer of a chain's first launch, at least.
    strip_buffer: int = threshold(1 << 19, small=32)
    strip_rows: int = threshold(16, small=2)  # rows of one strip, at least
    strip_launches: int = 24  # launches of one strip, at most
    strip_detours: int = 4  # steps among them that are not part of the strip, at most
    # Rows per partial sum of a strip, at least, since partial sums are written and read; and at
    # most.
    summed_rows: int = threshold(8, small=2)
    summed_rows_most: int = 64

    # --- libraries ----------------------------------------------------------------------------------

    # Products up to which a contraction is a generated loop: a call costs more than the work.
    small_product: int = threshold(8192, small=8)
    # Additions: the overhead of one call.
    library_call: int = threshold(5_000, small=50)
    written_out_rows: int = threshold(6, small=2)  # of a matrix whose factorization is unrolled
    written_out_products: int = threshold(150, small=4)  # of a triangular solve that is unrolled
    # Points of a native Fourier transform, at most: its constants are as many.
    transform_points: int = threshold(1 << 19, small=512)
    # Length up to which many lines are transformed side by side: they fit into an L2 cache.
    transform_line: int = threshold(1 << 11, small=32)
    # Elements from which threads share a transform, and the number of lines below which they do.
    shared_transform: int = threshold(1 << 14, small=64)
    shared_lines: int = threshold(4, small=2)
    # Length up to which few lines are transformed without splitting them into matrices.
    transform_alone: int = threshold(63, small=8)
    # Length up to which infinities in split lines come out as in lines that are not split.
    exact_transform: int = threshold(512, small=16)
    transform_items: int = threshold(64, small=3)  # work items of a transform, at most
    # Bytes of workspace of all items together.
    transform_bytes: int = threshold(1 << 23, small=1 << 14)
    # Length up to which kernels compute a transform inside a loop.
    kernel_transform: int = threshold(1 << 12, small=32)
    # Length up to which they compute one of, or to, real elements: it is fully unrolled.
    real_transform: int = threshold(16, small=4)
    # Length, and points of all transforms of one call, up to which kernels process four elements at
    # a time (1024 points: 1.7 us instead of 1.8 us with eight; compiled in 32 ms instead of 55 ms).
    short_transform: int = threshold(1 << 10, small=16)
    short_transforms: int = threshold(1 << 16, small=64)
    # Elements of a convolution's window, or of its result, up to which it is unrolled.
    written_out_places: int = threshold(16, small=2)
    # Products per work item of a convolution.
    convolution_item: int = threshold(1 << 20, small=64)
    convolution_items: int = 64  # work items, at most
    # Bytes of all partial sums of a filter gradient: each work item has its own.
    convolution_partial_bytes: int = threshold(1 << 22, small=256)
    convolution_partial_sums: int = 16  # partial sums, at most
    # Elements of an axis that is sorted by comparing all pairs, at most.
    sorted_elements: int = threshold(128, small=4)
    sorted_pairs: int = threshold(1 << 17, small=32)  # pairs compared so, at most
    sort_steps: int = 32  # approximate operations per element of a radix sort
    sort_items: int = threshold(64, small=4)  # work items of short rows, at most
    # Elements of a row from which all threads sort it together.
    shared_sort_above: int = threshold(1 << 17, small=16)
    # Elements above which NumPy sorts an array faster, including its call (`sorting.is_faster`).
    host_sort_above: int = threshold(2048, small=24)

    # --- threads ------------------------------------------------------------------------------------

    # Additions of a kernel, or of a batch of calls, from which threads pay off.
    parallel_above: int = threshold(400_000, small=32)
    # Operations of a matrix product from which they do: each thread packs the second operand.
    parallel_product_above: int = threshold(30_000_000, small=64)
    # Operations of a factorization from which OpenBLAS's own threads pay off.
    blas_threads_above: int = threshold(300_000_000, small=1000)
    # Additions of a call from which it releases the GIL: some tens of us.
    release_lock_above: int = threshold(200_000, small=32)
    # Additions between two polls for signals, which take 30 ns: in a loop that counts down to them,
    # in straight-line code, and per index of an outermost loop that is split for polling.
    poll_loop: int = threshold(1_000_000, small=64)
    poll_steps: int = threshold(20_000_000, small=64)
    poll_index: int = threshold(100_000_000, small=128)
    poll_iterations: int = threshold(1 << 20, small=4)  # between two polls, however cheap

    # --- loops (`hlo/passes`) -----------------------------------------------------------------------

    transfer: int = 4  # additions: storing an element and loading it
    fission_trips: int = threshold(16, small=2)  # trip count from which a loop may be split
    fission_gain: float = 32  # additions to save in each iteration, at least
    fission_attempts: int = 8  # sets of early carries to try, at most
    # Bytes that stacked values of all iterations may take, in split loops and hoisted products.
    stacked_bytes: int = threshold(1 << 26, small=1 << 12)
    # Rows of a product in a loop: with more, one product is efficient by itself.
    few_rows: int = threshold(16, small=2)
    large_matrix: int = threshold(2048, small=8)  # elements that each iteration would read again
    # Elements of a sum from which an iteration should not read and write it.
    sunk_sum: int = threshold(4096, small=8)
    sunk_trips: int = threshold(8, small=2)  # trip count from which it is sunk
    sunk_ratio: int = threshold(16, small=2)  # sum's size over that of stacked values, at least
    narrow_row: int = threshold(16, small=4)  # elements of a row that are too few for vectors
    # Elements of a row up to which a running maximum is bound by the latency between iterations,
    # not by arithmetic.
    waiting_row: int = threshold(32, small=4)
    # Elements up to which constants are folded.
    folded_elements: int = threshold(64, small=4)
    bounded_steps: int = 4  # through which bounds are followed: minus one, scaled, moved, clipped

    # --- partitioned programs (`hlo/partition`) -----------------------------------------------------

    line_bytes: int = 64  # a cache line
    divisions: int = 128  # partitionings of a node that are tried, at most
    # Bytes of the panels of a gathered operand, at most: a constant, or a share of the product's
    # bytes if that is more.
    panel_bytes: int = threshold(1 << 20, small=64)
    panel_share: int = 32
    # Growth of live bytes above which a gather does not start early.
    gathered_early: int = threshold(1 << 20, small=64)
    # Default device of time estimates (`jitney simulate`), a socket of a cluster: seconds per
    # message, bytes per second sent, operations per second, bytes of memory per second.
    link_latency: float = 2e-6
    link_bandwidth: float = 10e9
    device_operations: float = 500e9
    device_memory: float = 50e9

    # --- LLVM's time --------------------------------------------------------------------------------

    # Lines of a module that gets its own compiler thread: some 60 us each, and 2 ms per module.
    module_lines: int = threshold(150, small=10)
    long_module_lines: int = 4000  # lines per module, at most: a quarter of a second
    step_lines: int = 15  # lines of LLVM per step of a plan

    # Operations and bytes of a loop's body from which a profile times its steps: some microseconds.
    clocked_work: int = 20_000

    kernel_statements: int = 160  # per kernel: LLVM's time is superlinear in a function's length
    entry_steps: int = threshold(200, small=3)  # per function of the entry, likewise
    max_carried: int = 96  # scalars per lane of a loop kernel: what registers and L1 hold
    loop_statements: int = 2500  # of a loop kernel's body, with nested regions
    # Instructions of a loop kernel: about a second of LLVM's time. The largest float32 kernels that
    # `loop_statements` admits take less.
    max_effort: int = 26_000
    inline_uses: int = 6  # functions with more uses in one kernel are called, not inlined
    outline_above: int = 4  # additions: of functions that cost more
    call_effort: int = 4  # instructions per call: registers are saved around it
    # Where values are rounded to 16 bits, the constants for it stay in registers, which every call
    # clobbers: the register allocator's time is quadratic in the number of calls.
    calls_per_effort: int = 40
    access_effort: int = 3  # instructions per load or store, with its address
    digested_bytes: int = (
        1 << 24
    )  # constants of one program: hashing more takes longer than compiling

    @property
    def bytes_per_operation(self) -> float:
        """Bytes that a device sends in the time of a multiply-add."""
        return 2 * self.link_bandwidth / self.device_operations

    @property
    def register_bits(self) -> int:
        """Bits of the widest value that LLVM does not split."""
        return self.processor.vector_bits

    @property
    def lanes(self) -> int:
        """float32 elements per iteration of a kernel's loop, in estimates."""
        return self.processor.widest_bits // 32

    @property
    def fission_lanes(self) -> int:
        """Speedup of vector code over scalar code, in estimates of loop bodies."""
        return self.processor.vector_bits // 32

    @property
    def jammed_sums(self) -> int:
        """Number of sums that may be computed at once: one per vector register."""
        return self.processor.vector_registers

    def function(self, fn: str) -> int:
        """Returns the cost in additions of the scalar function `fn`, as its table row states."""
        return lookup(fn).cost


def model(processor: Processor) -> CostModel:
    """Returns the cost model of `processor`."""
    return CostModel(processor)


# x86-64 with the registers of AVX2; loops are estimated with the width of AVX-512.
PROCESSOR = Processor(vector_bits=256, widest_bits=512, vector_registers=16)
COSTS = model(PROCESSOR)
