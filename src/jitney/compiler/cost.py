"""The cost model: every number by which the compiler chooses among ways of computing, with its unit.

    COSTS.function("exp")        COSTS.store_above        model(processor)

Units. An *addition* is one of a vector of numbers already in registers; a nanosecond has a few. A
*point* is one of an iteration domain. An *instruction* is one of LLVM's on values of one register (see
`scalar/effort.py`): what its own time depends on, 30 to 60 us for each.

`COSTS` is the model of `PROCESSOR`, by which all decisions are taken, whichever processor runs the
program: so kernels, and with them the order of sums and the last bits of results, are the same
everywhere. Widths of vectors in the code are the target's own. A device with other costs has another
model.

Where the numbers come from: a measurement in a comment is that of its number. The others were chosen so
that the cases of `benchmarks` run fast on the machine that `benchmarks/results.md` names, in simple
numbers; bounds on LLVM's time so that first calls do (`benchmarks/compile_times.py`). Sizes are
thresholds (`core/thresholds.py`), which a setting lowers for tests.
"""

from __future__ import annotations

from jitney.compiler.scalar_functions import lookup
from jitney.core.record import record
from jitney.core.thresholds import threshold


@record(frozen=True)
class Processor:
    """The properties of a processor that costs depend on.

    Attributes:
      vector_bits: of a vector register that decisions count on.
      widest_bits: of the widest vectors that an instruction, or two side by side, work on.
      vector_registers: how many there are.
    """

    vector_bits: int
    widest_bits: int
    vector_registers: int


@record(frozen=True)
class CostModel:
    """The numbers for one processor. Those that follow from its registers are properties."""

    processor: Processor

    # --- vectors: cost of kernels' loops, in additions (`kernels/schedule.py`) ----------------------

    iteration: float = 1.0  # of a loop
    gathered_lane: float = 0.8  # that is loaded alone
    scattered_lane: float = 3.5  # that is stored alone
    # Elements from one lane to the next up to which lanes are picked out of whole vectors; of vectors
    # without masks.
    picked_stride: int = 8
    picked_stride_unmasked: int = 4
    # Blocks that are transposed before lanes are loaded from them (`kernels/turning.py`): elements of a
    # side, half as many of 64 bits; blocks of one kernel; cost of a vector; sizes, and points, from
    # which they pay.
    turned_side: int = 64
    turned_blocks: int = 4
    turned_vector: float = 4.0
    turned_extent: int = threshold(16, small=4)
    turned_points: int = threshold(1 << 12, small=32)
    halving: float = 3.0  # a vector, to reduce its lanes
    gather: int = 4  # an element at a computed place
    loop_trips: int = 100  # iterations of a loop kernel's loop, where nothing is known
    # The share of its time that a kernel may keep for loop unrolling to be worth it.
    unrolled_share: float = 0.9
    short_axis: int = 4  # elements up to which kernels may write out what they do along an axis
    # Points of a reduction above which several neighbours are computed at once.
    jam_above: int = threshold(1 << 16, small=16)
    # Cost of a reduction's body up to which four vectors are worked on at a time, and up to which
    # eight: a product of two loads, summed.
    light_body: int = 16
    lightest_body: int = 5
    accumulators: int = 4
    # Elements along the vector axis from which that is so: next to lanes that are kept, and for eight.
    accumulators_above: int = threshold(64, small=16)
    more_accumulators_above: int = threshold(128, small=32)

    # --- register tiles of contractions (`kernels/tiles.py`, `hlo/contractions.py`) -----------------

    tile_rows: int = 4  # of a tile whose columns are several vectors
    narrow_tile_rows: int = 8  # of one of few columns
    tile_sums: int = 16  # vectors of sums, at most: two a cycle, each waiting four for the last
    # Products from which tiles are worth LLVM's time, for those that BLAS can do: tens of us of it.
    tiled_products: int = threshold(1 << 21, small=64)
    tiled_operand: int = 1 << 17  # bytes of a second operand, at most: a share of the L2 cache
    # Elements of a row that is contracted by lanes, at least.
    tiled_row: int = threshold(256, small=16)
    tile_columns: int = threshold(16, small=4)  # of the second operand, at least
    # Of the first operand from which the second is worth being transposed.
    turned_rows: int = threshold(64, small=4)

    # --- products of narrow numbers (`hlo/narrow_products.py`, `tile_products.py`) -------------------

    # From which blocks are worth being laid out.
    narrow_products: int = threshold(1 << 16, small=32)
    narrow_padding: int = 4  # how many times as many products blocks may have, zeros included
    narrow_parts: int = 8  # products by BLAS, each of as many indices as are exact, at most
    # Bytes of columns over which rows pass: a share of the L2 cache.
    tile_panel: int = threshold(1 << 20, small=1 << 11)
    tile_product: int = 16  # cycles of one instruction

    # --- memory: computing a value again instead of storing it (`fusion`, `plan`) -------------------

    store_above: int = 4  # additions: a value that several kernels use is stored if it costs more
    # The same for a value that code without vectors uses, an element at a time: a store and a load take
    # as long as two or three scalar operations (a scatter of 1e6 elements: 0.88 ms with three
    # operations within, 1.18 before).
    vectorize_above: int = 8
    # The same for values of rows that no cache holds: additions up to which, for how many uses, and
    # bytes from which, they are computed again (softmax of 4,000,000 numbers: 2.24 ms, and 1.51 so).
    recomputed_below: int = 40
    recomputed_paths: int = 3
    recomputed_bytes: int = threshold(1 << 22, small=64)
    max_access_paths: int = 16  # different indices at which one kernel may compute the same node
    max_parts: int = 3  # of a concatenation within other code: each takes kernels of its own
    max_roots: int = threshold(12, small=4)  # of one group of fused nodes
    # Parts that the iteration domain of a kernel is divided into.
    max_domains: int = threshold(12, small=4)
    max_cost: int = 10_000  # additions: sums over shared operands grow without bound
    # Bytes of a padded operand from which on its border alone is filled, by a kernel for each side.
    filled_border: int = threshold(1 << 20, small=64)
    # Bytes of a carry above which buffers are swapped, not copied.
    swap_above: int = threshold(1024, small=16)

    # --- the arena (`plan/memory.py`) ---------------------------------------------------------------

    # Bytes from which holes matter, how many times as much as is alive at once they may make of it, and
    # how many buffers are placed by their sizes then: that takes time like the square of their number.
    tight_arena: int = threshold(1 << 20, small=256)
    loose_arena: float = 1.03
    placed_by_size: int = threshold(256, small=8)

    # --- reductions in parts (`kernels/split_reduction.py`) -----------------------------------------

    # Points of a reduction above which it is divided.
    split_above: int = threshold(1 << 17, small=32)
    # Of one part: the same whatever the number of threads.
    split_points: int = threshold(1 << 14, small=16)
    split_results: int = threshold(512, small=8)  # with more, threads share these
    # Points of a part for each result: partial results are written and read.
    split_least: int = threshold(64, small=4)

    # Reductions of columns (`kernels/schedule.py`): rows that all lanes go down together; lanes, bytes
    # of a row and of the matrix, from which they do; columns that a thread takes at a time, at least.
    reduced_strip: int = threshold(16, small=4)
    column_lanes: int = threshold(256, small=8)
    column_row: int = threshold(1 << 10, small=32)
    column_bytes: int = threshold(1 << 20, small=128)
    column_grain: int = threshold(512, small=64)

    # --- code of kernels (`codegen/kernel_key.py`) --------------------------------------------------

    lane_chunk: int = 64  # lanes go to threads in multiples of it: whole vectors
    shortest_vector: int = 4  # lanes; a loop for fewer is one of scalars

    # --- launches strip by strip (`plan/row_strips.py`) ---------------------------------------------

    # Of what launches touch for one strip: half of a second-level cache.
    strip_bytes: int = threshold(1 << 18, small=1 << 10)
    # Bytes of it that are the strip's own: they are on a thread's stack.
    strip_stack: int = threshold(1 << 17, small=1 << 9)
    # Bytes that are found in caches, from which strips pay.
    strip_above: int = threshold(1 << 21, small=64)
    # Bytes of the largest buffer of a chain's first launch, at least.
    strip_buffer: int = threshold(1 << 19, small=32)
    strip_rows: int = threshold(16, small=2)  # at least
    strip_launches: int = 24  # of one strip
    strip_detours: int = 4  # launches among them that are not part of the strip
    # Rows that are added up at a time where a strip has them: partial sums are written and read.
    summed_rows: int = threshold(8, small=2)
    summed_rows_most: int = 64

    # --- libraries ----------------------------------------------------------------------------------

    # Products up to which a contraction is a loop of our own: a call costs more than the work.
    small_product: int = threshold(8192, small=8)
    # Additions: work of one call beside that on elements.
    library_call: int = threshold(5_000, small=50)
    written_out_rows: int = threshold(6, small=2)  # of a matrix whose factorization is written out
    written_out_products: int = threshold(150, small=4)  # of a triangular system that is
    # Of a Fourier transform by native code: its constants are as many.
    transform_points: int = threshold(1 << 19, small=512)
    # Numbers up to which many lines are transformed side by side, in a second-level cache.
    transform_line: int = threshold(1 << 11, small=32)
    # Numbers from which threads share a transform, if there are few of them.
    shared_transform: int = threshold(1 << 14, small=64)
    shared_lines: int = threshold(4, small=2)
    # Numbers up to which few lines are, number by number.
    transform_alone: int = threshold(63, small=8)
    # Numbers up to which infinities among those of a few lines come out as in one call.
    exact_transform: int = threshold(512, small=16)
    transform_items: int = threshold(64, small=3)  # that lines are divided into, at most
    # Of memory of all items together.
    transform_bytes: int = threshold(1 << 23, small=1 << 14)
    # Of a transform in a loop that is done by kernels.
    kernel_transform: int = threshold(1 << 12, small=32)
    # Numbers up to which a transform of, or to, real ones is: all is written out.
    real_transform: int = threshold(16, small=4)
    # Lengths, and points of all transforms of one, up to which kernels take four elements at a time
    # (1024 points: 1.7 us, and 1.8 with eight; 32 ms to compile, and 55).
    short_transform: int = threshold(1 << 10, small=16)
    short_transforms: int = threshold(1 << 16, small=64)
    # Of a convolution's window, or of its result, that are.
    written_out_places: int = threshold(16, small=2)
    # Products that are worth an item of work of their own.
    convolution_item: int = threshold(1 << 20, small=64)
    convolution_items: int = 64  # at most
    # Of a gradient of windows, whose items add up in memory of their own, for all of them together.
    convolution_partial_bytes: int = threshold(1 << 22, small=256)
    convolution_partial_sums: int = 16  # at most
    # Along an axis that is sorted by comparing all pairs.
    sorted_elements: int = threshold(128, small=4)
    sorted_pairs: int = threshold(1 << 17, small=32)  # that are compared so
    sort_steps: int = 32  # operations for an element of a radix sort, about
    sort_items: int = threshold(64, small=4)  # that short rows are divided into, at most
    # Elements of a row that is sorted by all threads.
    shared_sort_above: int = threshold(1 << 17, small=16)
    # Elements above which NumPy sorts an array faster, its call included (`sorting.is_faster`).
    host_sort_above: int = threshold(2048, small=24)

    # --- threads ------------------------------------------------------------------------------------

    # Additions of a kernel, or of a batch of calls, from which threads bring more than they cost.
    parallel_above: int = threshold(400_000, small=32)
    # Operations of a product from which they do: each part packs the whole second operand.
    parallel_product_above: int = threshold(30_000_000, small=64)
    # Operations of a factorization from which OpenBLAS's own threads do.
    blas_threads_above: int = threshold(300_000_000, small=1000)
    # Additions of a call from which other Python threads should run meanwhile: some tens of us.
    release_lock_above: int = threshold(200_000, small=32)
    # Additions between two polls for signals, which take 30 ns: of a loop that counts down to them; of
    # straight code; of an index of the outermost loop that is divided by polls.
    poll_loop: int = threshold(1_000_000, small=64)
    poll_steps: int = threshold(20_000_000, small=64)
    poll_index: int = threshold(100_000_000, small=128)
    poll_iterations: int = threshold(1 << 20, small=4)  # between two polls, however cheap they are

    # --- loops (`hlo/passes`) -----------------------------------------------------------------------

    transfer: int = 4  # additions: storing an element and loading it
    fission_trips: int = threshold(16, small=2)  # from which a loop may be divided
    fission_gain: float = 32  # additions that each iteration is to save
    fission_attempts: int = 8  # sets of early carries that are tried
    # Bytes that the values of all iterations may take: of a divided loop, of products before it.
    stacked_bytes: int = threshold(1 << 26, small=1 << 12)
    # Of a product in a loop: with more, one product alone is efficient.
    few_rows: int = threshold(16, small=2)
    large_matrix: int = threshold(2048, small=8)  # elements that each iteration would read again
    # Elements of a sum that an iteration had better not read and write.
    sunk_sum: int = threshold(4096, small=8)
    sunk_trips: int = threshold(8, small=2)  # from which it is sunk
    sunk_ratio: int = threshold(16, small=2)  # how many times smaller what is stacked is to be
    narrow_row: int = threshold(16, small=4)  # elements of a row that are too few for vectors
    # Elements of a row up to which iterations of a running extreme wait for each other more than for
    # the arithmetic.
    waiting_row: int = threshold(32, small=4)
    # Up to which constants are computed at compile time.
    folded_elements: int = threshold(64, small=4)
    bounded_steps: int = 4  # that bounds are followed through: less one, scaled, moved, clipped

    # --- programs over a mesh (`hlo/partition`) -----------------------------------------------------

    line_bytes: int = 64  # in which memory is read and written
    divisions: int = 128  # ways to divide a node that are tried, at most
    # Bytes that panels of a gathered operand may take: so many, or a share of what a product has.
    panel_bytes: int = threshold(1 << 20, small=64)
    panel_share: int = 32
    # Bytes more than there were, that are gathered before their turn.
    gathered_early: int = threshold(1 << 20, small=64)
    # What estimates of time take a device to be (`jitney simulate`), if nothing else is said: a socket
    # of a cluster. Seconds of a message; bytes a second that are sent; operations a second; bytes of
    # memory a second.
    link_latency: float = 2e-6
    link_bandwidth: float = 10e9
    device_operations: float = 500e9
    device_memory: float = 50e9

    # --- LLVM's time --------------------------------------------------------------------------------

    # Lines of a module that a thread of its own compiles: some 60 us each, and 2 ms for a module.
    module_lines: int = threshold(150, small=10)
    long_module_lines: int = 4000  # that are as long as one should wait for: a quarter of a second
    step_lines: int = 15  # of the code that takes a step of a plan

    # Operations and bytes of a loop's body from which on a profile times its steps: some microseconds.
    clocked_work: int = 20_000

    kernel_statements: int = 160  # of one kernel: LLVM's cost grows faster than a function's length
    entry_steps: int = threshold(200, small=3)  # of one function of the entry, for the same reason
    max_carried: int = 96  # scalars per lane of a loop kernel: what registers and L1 hold
    loop_statements: int = 2500  # of a loop kernel's body, taken apart
    # Instructions of a loop kernel: about a second of LLVM's time. The largest kernels of float32
    # numbers that there may be (`loop_statements`) take less.
    max_effort: int = 26_000
    inline_uses: int = 6  # functions used more often in one kernel are called, not written out
    outline_above: int = 4  # additions: of those that cost more
    call_effort: int = 4  # instructions of a call: registers are saved around it
    # Where numbers are rounded to 16 bits, the constants of that stay in registers, which all calls
    # take away: the allocator's time grows with the square of the calls.
    calls_per_effort: int = 40
    access_effort: int = 3  # instructions of a load or a store, with its address
    digested_bytes: int = (
        1 << 24
    )  # constants of one program: to read more takes longer than to compile

    @property
    def bytes_per_operation(self) -> float:
        """Bytes that a device sends in the time of a product and its sum."""
        return 2 * self.link_bandwidth / self.device_operations

    @property
    def register_bits(self) -> int:
        """Of a value that LLVM does not divide."""
        return self.processor.vector_bits

    @property
    def lanes(self) -> int:
        """float32 numbers that an iteration of a kernel's loop works on, in estimates."""
        return self.processor.widest_bits // 32

    @property
    def fission_lanes(self) -> int:
        """Elements that vectors compute in the time of one, in estimates of loops' bodies."""
        return self.processor.vector_bits // 32

    @property
    def jammed_sums(self) -> int:
        """Sums that may be computed at once: more need more registers than there are."""
        return self.processor.vector_registers

    def function(self, fn: str) -> int:
        """Additions that the scalar function `fn` takes, as its row says."""
        return lookup(fn).cost


def model(processor: Processor) -> CostModel:
    """Returns what work costs on `processor`."""
    return CostModel(processor)


# x86-64 with the registers of AVX2; loops are estimated by the width of AVX-512.
PROCESSOR = Processor(vector_bits=256, widest_bits=512, vector_registers=16)
COSTS = model(PROCESSOR)
