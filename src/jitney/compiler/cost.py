"""The cost model: all constants, with units, by which the compiler chooses implementations.

    COSTS.function("exp")        COSTS.store_above        model(processor)

Units: An *addition* is one addition of SIMD vectors in registers; it takes a fraction of a
nanosecond. A *point* is one point of an iteration domain. An *instruction* is one LLVM instruction
on operands that fit in one register (see `scalar/effort.py`). It is the unit of compile time; LLVM
takes 30 to 60 us for each.

`COSTS` is the model of `PROCESSOR`. All decisions are based on it, regardless of the processor that
runs the program, so that kernels, the order of additions in sums, and therefore the last bits of
results are the same everywhere. Only the vector width of the code depends on the target. A device
with different costs needs another model.

If a value is based on a measurement, the comment states it. All other values are round numbers,
chosen so that the cases of `benchmarks` run fast on the machine described in
`benchmarks/results.md`. Bounds on compile time are chosen to limit the time of first calls
(`benchmarks/compile_times.py`). Sizes are thresholds (`core/util/thresholds.py`), which a setting
lowers for tests.
"""

from __future__ import annotations

from jitney.compiler.scalar_functions import lookup
from jitney.core.util.record import record
from jitney.core.util.thresholds import threshold


@record(frozen=True)
class Processor:
    """The properties of a processor on which costs depend.

    Attributes:
      vector_bits: the width in bits of the vector registers that decisions assume.
      widest_bits: the width in bits of the widest vectors that one instruction, or two executed in
        parallel, operate on.
      vector_registers: the number of vector registers.
    """

    vector_bits: int
    widest_bits: int
    vector_registers: int


@record(frozen=True)
class CostModel:
    """The constants for one processor. Those that follow from its registers are properties."""

    processor: Processor

    # --- vectors: cost of kernels' loops, in additions (`kernels/schedule.py`) ----------------------

    iteration: float = 1.0  # overhead of an iteration of a kernel's loop
    gathered_lane: float = 0.8  # a lane that is loaded separately
    scattered_lane: float = 3.5  # a lane that is stored separately
    # The largest stride between lanes at which strided loads select lanes from contiguous vectors,
    # with and without masked loads.
    picked_stride: int = 8
    picked_stride_unmasked: int = 4
    # Blocks that are transposed before lanes are loaded from them
    # (`kernels/block_transposition.py`): the elements of a side (half as many for 64-bit elements),
    # the maximum number of blocks of a kernel, the cost per vector, and the minimum axis sizes and
    # number of points for which they pay off.
    transposed_side: int = 64
    transposed_blocks: int = 4
    transposed_vector: float = 4.0
    transposed_extent: int = threshold(16, small=4)
    transposed_points: int = threshold(1 << 12, small=32)
    halving: float = 3.0  # reducing the lanes of a vector to half as many
    gather: int = 4  # loading an element at a computed index
    loop_trips: int = 100  # assumed trip count of the loop of a loop kernel
    # The choice between loop kernels and separate steps (`plan/loop_costs.py`). Costs are in units
    # of 0.27 ns, measured on twenty loops.
    loop_launch: int = 40  # the cost of a launch in a loop
    loop_product: int = 30  # the additional cost of a product
    register_operation: float = 0.4  # a cheap operation in registers, relative to an addition
    scalar_function: float = 1.5  # a function of a scalar, relative to that of a vector
    half_operation: int = 6  # an operation on 16-bit floats with rounding, relative to float32
    register_margin: float = 0.9  # the maximum cost of a loop kernel, relative to steps
    # The estimated compile time of a loop kernel, 40 ms, above which a call must save time in
    # proportion to it: the compile time is repaid after some 10,000 calls.
    light_effort: int = 1000
    saved_per_effort: int = 15
    # Unrolling is applied if it reduces the estimated time of a kernel to at most this fraction.
    unrolled_share: float = 0.9
    short_axis: int = 4  # maximum size of an axis that kernels can unroll
    # The number of points of a reduction above which several adjacent results are computed
    # together.
    jam_above: int = threshold(1 << 16, small=16)
    # The maximum costs of the body of a reduction for which it has four and eight vector
    # accumulators. The latter is the cost of a sum of products of two loads.
    light_body: int = 16
    lightest_body: int = 5
    accumulators: int = 4
    # The minimum sizes of the vector axis for four accumulators, if lanes are not reduced, and for
    # eight.
    accumulators_above: int = threshold(64, small=16)
    more_accumulators_above: int = threshold(128, small=32)

    # --- register tiles of contractions (`kernels/tiles.py`, `hlo/contractions.py`) -----------------

    tile_rows: int = 4  # rows of a tile with several vectors of columns
    narrow_tile_rows: int = 8  # rows of a tile with few columns
    tile_sums: int = 16  # maximum accumulator vectors; two start per cycle, with a latency of 4
    # The minimum number of products for which tiling pays off LLVM's compile time, tens of us, if
    # BLAS is an alternative.
    tiled_products: int = threshold(1 << 21, small=64)
    tiled_operand: int = 1 << 17  # maximum bytes of the second operand: a part of the L2 cache
    # The minimum size of a row that is contracted along the lanes.
    tiled_row: int = threshold(256, small=16)
    tile_columns: int = threshold(16, small=4)  # minimum columns of the second operand
    # The minimum number of rows of the first operand for which transposing the second one pays off.
    transposed_rows: int = threshold(64, small=4)

    # --- products of narrow dtypes (`hlo/narrow_products.py`, `tile_products.py`) --------------------

    # The minimum number of products for which packing the operands into blocks pays off.
    narrow_products: int = threshold(1 << 16, small=32)
    narrow_padding: int = 4  # maximum ratio of products with padding to those needed
    narrow_parts: int = 8  # maximum BLAS calls, each over a range with exact sums
    # The bytes of the columns by which each block of rows is multiplied: a part of the L2 cache.
    tile_panel: int = threshold(1 << 20, small=1 << 11)
    # Cycles of the product of two tiles: one instruction of AMX, 256 dot products of AVX-512.
    tile_product: int = 16
    dot_product: int = 128
    # The minimum length of a contracted axis for which packing pays off with AVX-512.
    dot_terms: int = threshold(32, small=2)

    # --- memory: recomputing values instead of storing them (`fusion`, `plan`) ----------------------

    store_above: int = 4  # additions; a value used by several kernels is stored if it costs more
    # The same for a value that is used by code that is not vectorized. A store and a load take as
    # long as two or three scalar operations: a scatter of 1e6 elements takes 0.88 ms with three
    # operations fused, and 1.18 ms otherwise.
    vectorize_above: int = 8
    # The same for rows that exceed the caches: values are recomputed up to this cost in additions
    # and this number of access paths, if the array has at least this number of bytes. A softmax of
    # 4,000,000 elements takes 2.24 ms with stored values, and 1.51 ms with recomputed ones.
    recomputed_below: int = 40
    recomputed_paths: int = 3
    recomputed_bytes: int = threshold(1 << 22, small=64)
    max_access_paths: int = 16  # maximum number of indices at which a kernel computes the same node
    max_parts: int = 3  # maximum operands of a fused concatenation; each needs a kernel
    max_roots: int = threshold(12, small=4)  # maximum number of roots of a group
    # The maximum number of parts into which the iteration domain of a kernel is split.
    max_domains: int = threshold(12, small=4)
    max_cost: int = 10_000  # additions; a cap, as shared operands are counted repeatedly
    # The minimum bytes of a padded operand for which only its border is filled, by a kernel per
    # side.
    filled_border: int = threshold(1 << 20, small=64)
    # The bytes of a carry above which buffers are swapped instead of copied.
    swap_above: int = threshold(1024, small=16)

    # --- the arena (`plan/memory.py`) ---------------------------------------------------------------

    # The bytes of the arena above which fragmentation matters, the ratio of the arena to the peak
    # of live bytes that is then acceptable, and the maximum number of buffers that are placed by
    # size, which takes quadratic time.
    tight_arena: int = threshold(1 << 20, small=256)
    loose_arena: float = 1.03
    placed_by_size: int = threshold(256, small=8)

    # --- split reductions (`kernels/split_reduction.py`) --------------------------------------------

    # The number of points of a reduction above which it is split.
    split_above: int = threshold(1 << 17, small=32)
    # The number of points of one part, which does not depend on the number of threads.
    split_points: int = threshold(1 << 14, small=16)
    split_results: int = threshold(512, small=8)  # with more, threads divide the results instead
    # The minimum number of points of a part per result, since partial results are written and read.
    split_least: int = threshold(64, small=4)

    # Column reductions (`kernels/schedule.py`): the number of rows of a strip; the minimum numbers
    # of lanes, bytes of a row, and bytes of the matrix for which strips are used; and the minimum
    # number of columns per thread.
    reduced_strip: int = threshold(16, small=4)
    column_lanes: int = threshold(256, small=8)
    column_row: int = threshold(1 << 10, small=32)
    column_bytes: int = threshold(1 << 20, small=128)
    column_grain: int = threshold(512, small=64)

    # --- code of kernels (`codegen/kernel_costs.py`) --------------------------------------------------

    lane_chunk: int = 64  # threads are assigned multiples of it, so that vectors are full
    shortest_vector: int = 4  # lanes; loops with fewer lanes are scalar

    # --- strip mining of launches (`plan/row_strips.py`) --------------------------------------------

    # The bytes that the launches of one strip access: half of an L2 cache.
    strip_bytes: int = threshold(1 << 18, small=1 << 10)
    # The maximum bytes of the buffers that only the strip uses, which are on a thread's stack.
    strip_stack: int = threshold(1 << 17, small=1 << 9)
    # The minimum bytes reused from the caches for which strips pay off.
    strip_above: int = threshold(1 << 21, small=64)
    # The minimum bytes of the largest buffer of a chain's first launch.
    strip_buffer: int = threshold(1 << 19, small=32)
    strip_rows: int = threshold(16, small=2)  # minimum rows of a strip
    strip_launches: int = 24  # maximum launches of a strip
    strip_detours: int = 4  # maximum steps between them that are not part of the strip
    # The minimum rows per partial sum of a strip, since partial sums are written and read; and the
    # maximum.
    summed_rows: int = threshold(8, small=2)
    summed_rows_most: int = 64

    # --- libraries ----------------------------------------------------------------------------------

    # The number of products up to which a contraction is a generated loop, since the overhead of a
    # call exceeds the work.
    small_product: int = threshold(8192, small=8)
    # The overhead of one call, in additions.
    library_call: int = threshold(5_000, small=50)
    written_out_rows: int = threshold(6, small=2)  # maximum rows of an unrolled factorization
    written_out_products: int = threshold(150, small=4)  # maximum for an unrolled triangular solve
    # The maximum length of a native Fourier transform, which has as many constants.
    transform_points: int = threshold(1 << 19, small=512)
    # The length up to which many lines are transformed side by side, since they fit in an L2 cache.
    transform_line: int = threshold(1 << 11, small=32)
    # The minimum number of elements for which threads share the transform of a line, and the number
    # of lines below which they do.
    shared_transform: int = threshold(1 << 14, small=64)
    shared_lines: int = threshold(4, small=2)
    # The length up to which a few lines are transformed without treating them as matrices.
    transform_alone: int = threshold(63, small=8)
    # The length up to which infinities in lines treated as matrices have the same effect as in
    # others.
    exact_transform: int = threshold(512, small=16)
    transform_items: int = threshold(64, small=3)  # maximum work items of a transform
    # The maximum bytes of workspace of all items together.
    transform_bytes: int = threshold(1 << 23, small=1 << 14)
    # The length up to which kernels compute a transform inside a loop.
    kernel_transform: int = threshold(1 << 12, small=32)
    # The same for transforms of or to real elements, which are fully unrolled.
    real_transform: int = threshold(16, small=4)
    # The length, and the points of all transforms of a call, up to which kernels use radix 4. 1024
    # points take 1.7 us, compared with 1.8 us with radix 8, and are compiled in 32 ms instead of 55
    # ms.
    short_transform: int = threshold(1 << 10, small=16)
    short_transforms: int = threshold(1 << 16, small=64)
    # The number of elements of a convolution's window, or of its result, up to which it is
    # unrolled.
    written_out_places: int = threshold(16, small=2)
    # The number of products per work item of a convolution.
    convolution_item: int = threshold(1 << 20, small=64)
    convolution_items: int = 64  # maximum work items
    # The maximum bytes of all partial sums of a filter gradient, of which each work item has its
    # own.
    convolution_partial_bytes: int = threshold(1 << 22, small=256)
    convolution_partial_sums: int = 16  # maximum partial sums
    # The maximum size of an axis that is sorted by comparing all pairs of elements.
    sorted_elements: int = threshold(128, small=4)
    sorted_pairs: int = threshold(1 << 17, small=32)  # maximum pairs compared in this way
    sort_steps: int = 32  # approximate operations per element of a radix sort
    sort_items: int = threshold(64, small=4)  # maximum work items of short rows
    # The number of elements of a row above which all threads sort it together.
    shared_sort_above: int = threshold(1 << 17, small=16)
    # The number of elements above which NumPy sorts an array faster, including the overhead of
    # calling it (`sorting.is_faster`).
    host_sort_above: int = threshold(2048, small=24)

    # --- threads ------------------------------------------------------------------------------------

    # The number of additions of a kernel, or of a batch of calls, above which threads pay off.
    parallel_above: int = threshold(400_000, small=32)
    # The same for the operations of a matrix product, of which each thread packs the second
    # operand.
    parallel_product_above: int = threshold(30_000_000, small=64)
    # The number of operations of a factorization above which OpenBLAS's own threads pay off.
    blas_threads_above: int = threshold(300_000_000, small=1000)
    # The number of additions above which a call releases the GIL; they take tens of us.
    release_lock_above: int = threshold(200_000, small=32)
    # The number of additions between two polls for signals, which take 30 ns each: in a loop that
    # counts down to the next poll, in straight-line code, and per index of an outermost loop that
    # is split for polling.
    poll_loop: int = threshold(1_000_000, small=64)
    poll_steps: int = threshold(20_000_000, small=64)
    poll_index: int = threshold(100_000_000, small=128)
    poll_iterations: int = threshold(1 << 20, small=4)  # maximum iterations between two polls

    # --- loops (`hlo/passes`) -----------------------------------------------------------------------

    transfer: int = 4  # additions; the cost of storing an element and loading it
    fission_trips: int = threshold(16, small=2)  # minimum trip count of a loop to split
    fission_gain: float = 32  # minimum additions saved per iteration
    fission_attempts: int = 8  # maximum sets of early carries to try
    # The maximum bytes of the stacked values of all iterations, in split loops and hoisted
    # products.
    stacked_bytes: int = threshold(1 << 26, small=1 << 12)
    # The maximum rows of a product to hoist from a loop; with more, a single product is efficient.
    few_rows: int = threshold(16, small=2)
    large_matrix: int = threshold(2048, small=8)  # minimum elements of a matrix in each iteration
    # The minimum number of elements of a sum that is sunk, so that iterations need not read and
    # write it.
    sunk_sum: int = threshold(4096, small=8)
    sunk_trips: int = threshold(8, small=2)  # minimum trip count for which it is sunk
    sunk_ratio: int = threshold(16, small=2)  # minimum ratio of its size to that of stacked values
    narrow_row: int = threshold(16, small=4)  # rows with fewer elements are too short for vectors
    # The number of elements of a row up to which a running maximum is bound by the latency between
    # iterations instead of by throughput.
    waiting_row: int = threshold(32, small=4)
    # The number of elements up to which constants are folded.
    folded_elements: int = threshold(64, small=4)
    bounded_steps: int = 4  # operations that bounds are propagated through

    # --- partitioned programs (`hlo/partition`) -----------------------------------------------------

    line_bytes: int = 64  # a cache line
    divisions: int = 128  # maximum partitionings of a node to try
    # The maximum bytes of the panels of a gathered operand: a constant, or this fraction (1 /
    # panel_share) of the product's bytes if that is more.
    panel_bytes: int = threshold(1 << 20, small=64)
    panel_share: int = 32
    # The growth of live bytes above which a gather does not start early.
    gathered_early: int = threshold(1 << 20, small=64)
    # The default device for time estimates (`jitney simulate`), one socket of a cluster node:
    # seconds per message, bytes sent per second, operations per second, and bytes of memory
    # accessed per second.
    link_latency: float = 2e-6
    link_bandwidth: float = 10e9
    device_operations: float = 500e9
    device_memory: float = 50e9

    # --- LLVM's time --------------------------------------------------------------------------------

    # The minimum lines of a module compiled by a separate thread: LLVM takes about 60 us per line,
    # and 2 ms per module.
    module_lines: int = threshold(150, small=10)
    long_module_lines: int = 4000  # maximum lines per module, a quarter of a second
    step_lines: int = 15  # lines of LLVM IR per step of a plan

    # The minimum operations and bytes of a loop's body for which a profile times its steps; they
    # take a few microseconds.
    clocked_work: int = 20_000

    kernel_statements: int = 160  # maximum per kernel; compile time is superlinear in length
    entry_steps: int = threshold(200, small=3)  # maximum per function of the entry
    max_carried: int = 96  # maximum scalars per lane of a loop kernel
    loop_statements: int = 2500  # maximum for a loop kernel's body, with nested regions
    # The maximum instructions of a loop kernel: about a second of LLVM's time. The largest float32
    # kernels that `loop_statements` allows take less.
    max_effort: int = 26_000
    inline_uses: int = 6  # functions with more uses in a kernel are called, not inlined
    outline_above: int = 4  # additions; this is done for functions that cost more
    call_effort: int = 4  # instructions per call, which saves and restores registers
    # In kernels that round values to 16 bits, the constants for rounding are in registers, which
    # every call clobbers, so the register allocator's time is quadratic in the number of calls.
    calls_per_effort: int = 40
    access_effort: int = 3  # instructions per load or store, including its address
    digested_bytes: int = (
        1 << 24
    )  # maximum bytes of constants; hashing more takes longer than compiling

    @property
    def bytes_per_operation(self) -> float:
        """The number of bytes that a device sends in the time of a multiply-add."""
        return 2 * self.link_bandwidth / self.device_operations

    @property
    def register_bits(self) -> int:
        """The width in bits of the widest vector that LLVM does not split."""
        return self.processor.vector_bits

    @property
    def lanes(self) -> int:
        """The number of float32 elements per iteration of a kernel's loop, in estimates."""
        return self.processor.widest_bits // 32

    @property
    def fission_lanes(self) -> int:
        """The speedup of vector code over scalar code, in estimates of loop bodies."""
        return self.processor.vector_bits // 32

    @property
    def jammed_sums(self) -> int:
        """The number of sums that can be computed together: one per vector register."""
        return self.processor.vector_registers

    def function(self, fn: str) -> int:
        """Returns the cost of the scalar function `fn` in additions, as declared in the table."""
        return lookup(fn).cost


def model(processor: Processor) -> CostModel:
    """Returns the cost model of `processor`."""
    return CostModel(processor)


# x86-64 with the registers of AVX2. Estimates of loops assume the vector width of AVX-512.
PROCESSOR = Processor(vector_bits=256, widest_bits=512, vector_registers=16)
COSTS = model(PROCESSOR)
