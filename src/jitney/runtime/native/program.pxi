# Compiled programs and their calls; a part of `_native.pyx`.
#
# A call has three steps. `prepare` checks the inputs and holds them, and allocates results and arena.
# `enqueue` gives the call to the queue of a device, which runs it. `complete` raises what it has failed
# with, or hands over the results. What a call needs in between is in an `Activation`: on the stack for
# calls that run at once (`fast_calls.pxi`), in a `Call` for those that wait.
#
# Calls whose last run took long are deferred: `Program.defer` returns arrays at once, and the queue runs
# the call later (`queues.pxi`). So are calls of any length whose inputs are results of deferred calls.
# Programs that call Python functions are never deferred, so that effects happen in order.

cdef extern from "Python.h":
    PyObject *PyErr_Occurred()

ctypedef int32_t (*Entry)(
    jt_call *call, void **inputs, void **outputs, void *arena
) noexcept nogil

cdef enum:
    MAX_AXES = 64  # of NumPy's arrays
    FEW = 8  # results whose addresses need no memory from the heap
    CALLS_OF_A_LOOK = 64  # of a program that is estimated to be short: one of them is timed
    POLLS_OF_LONG_CALLS = 4  # there are some hundred microseconds between two polls


def use_host_function(function):
    """Sets what runs Python functions for programs: a function of their number and of an address.

    At the address are those of the function's operands and results. It raises what the function raises.
    """
    jt_set_host_function(function)


def call_host_address():
    """Address of `int32 call_host(call, int64 number, ptr slots)`: programs call Python functions by it.

    It returns 1 if the function has returned. All else is a failure: the call has then noted the
    exception, and raises it when it is completed. So none can be lost, or get into another thread,
    wherever a handler of a signal raises.
    """
    return <uintptr_t>&jt_call_host


def poll_address():
    """Address of `int32 poll(call)`: 1, or else the program has to end, as the call has failed."""
    return <uintptr_t>&jt_poll


def transpose_addresses():
    """Bits of elements, and the address of the function that transposes blocks of such elements:
    `void transpose(target, target_step, source, source_step, rows, columns)`."""
    return {
        8: <uintptr_t>&jt_transpose_8,
        16: <uintptr_t>&jt_transpose_16,
        32: <uintptr_t>&jt_transpose_32,
        64: <uintptr_t>&jt_transpose_64,
        128: <uintptr_t>&jt_transpose_128,
    }


def set_main_thread(unsigned long number):
    """Says which thread handles signals."""
    global jt_main_thread
    jt_main_thread = number


cdef struct Activation:
    jt_call call
    void **inputs  # whose data the caller holds
    void **outputs
    void *memory  # of the arena
    int32_t status  # JT_SUCCEEDED once it has run to its end
    void *few_outputs[FEW]


cdef inline void _release(Activation *a) noexcept:
    """Frees what `Program.allocate` took, but for the results."""
    if a.outputs != a.few_outputs:
        free(a.outputs)
    jt_give(a.memory)


cdef inline void *_aligned(void *memory) noexcept nogil:
    """The arena within `memory`: it begins with a line of the cache."""
    return <void *>((<uintptr_t>memory + 63) & ~<uintptr_t>63)


@cython.final
cdef class Program:
    """What calling a compiled program takes.

    The data of a call's inputs must be held, by references to the ndarrays, until it is done: programs
    call Python functions and run beside other threads, and either may delete arrays, give them away or
    change the containers that they were passed in.

    Args:
      entry: address of `i32 entry(ptr call, ptr inputs, ptr outputs, ptr arena)`.
      n_inputs: number of inputs.
      out_types: (dtype, shape in memory) of each result: of 64 axes at most.
      out_avals: types of the results.
      arena_bytes: memory for temporaries.
      release: whether other Python threads run meanwhile.
      device: what owns the results: the first of the devices that they lie on.
      queue: what runs its calls.
      placements: where each of the results is put; None if no operand was put anywhere.
      aliases: for each result, the input in whose memory it lies, if that is given up and nothing else
        refers to it; -1 where it has memory of its own. None if all have.
      keep_alive: what the code needs.
      calls_python: whether it calls Python functions, so that its calls run in the thread that makes
        them, before they return.
    """

    cdef Entry entry
    cdef int n_inputs
    cdef int n_outputs
    cdef Py_ssize_t arena_bytes
    cdef bint release
    cdef readonly tuple out_avals
    cdef readonly object device
    cdef readonly Queue queue
    cdef readonly tuple placements
    cdef tuple aliases
    cdef tuple descrs
    cdef tuple shapes
    cdef object keep_alive
    cdef bint is_deferrable
    cdef int64_t nanoseconds  # that its last call took that was timed
    cdef unsigned int calls
    cdef Py_ssize_t out_bytes

    def __init__(
        self, entry, n_inputs, out_types, out_avals, arena_bytes, release, device, Queue queue,
        placements, aliases, keep_alive, calls_python=True,
    ):
        self.entry = <Entry><uintptr_t>entry
        self.n_inputs = n_inputs
        self.n_outputs = len(out_types)
        self.descrs = tuple([d for d, _ in out_types])
        self.shapes = tuple([tuple(s) for _, s in out_types])
        self.out_avals = tuple(out_avals)
        self.arena_bytes = arena_bytes
        self.release = release
        self.device = device
        self.queue = queue
        self.placements = placements
        self.aliases = aliases
        self.keep_alive = keep_alive
        self.is_deferrable = not calls_python
        self.nanoseconds = 0
        self.calls = 0
        self.out_bytes = sum([d.itemsize * math.prod(s) for d, s in out_types])
        if max(map(len, self.shapes), default=0) > MAX_AXES:
            raise ValueError(f"no array has more than {MAX_AXES} axes in memory: {self.shapes}")
        if len(self.out_avals) != self.n_outputs:
            raise ValueError(f"{self.n_outputs} results of {len(self.out_avals)} types")

    @property
    def is_deferrable_now(self):
        """Whether its calls may run later: see `defer`."""
        return (
            self.is_deferrable
            and _deferred_from != NEVER
            and not jt_queue_runs_here(self.queue.tasks)
        )

    @property
    def takes_long(self):
        """Whether its next call should run later, as the last one took long."""
        return self.nanoseconds >= _deferred_from

    def prepare(self, inputs, donors=()):
        """A call on contiguous ndarrays of the right types, ready to be enqueued.

        Args:
          inputs: a list of them.
          donors: the buffers of those that are given up, None for others; empty if none is. They are
            deleted, and results may lie in their memory.

        Raises:
          ValueError: if there are more or fewer inputs than the program has.
          MemoryError: if there is no memory for results or temporaries.
        """
        cdef Call call = self.call_on(inputs)
        call.is_allocated = True
        # Besides a buffer, the caller's list and `held` refer to an input.
        call.values = self.allocate(&call.activation, call.pointers, list(donors), 3)
        self.allocate_arena(&call.activation)
        _give_up(donors)
        return call

    def defer(self, inputs, needs, donors, place):
        """The results of a call that runs later, as arrays that may be waited for.

        Args:
          inputs, donors: as of `prepare`.
          needs: calls of this program's queue that compute some of the inputs: see `data_to_come`.
          place: (name of the function, code of its caller, offset of the call in that).

        Raises:
          ValueError: if there are more or fewer inputs than the program has.
          MemoryError: if there is no memory for results.
        """
        self.queue.make_room(self.out_bytes)
        return self.push(self.call_on(inputs), needs, list(donors), place)

    cdef Call call_on(self, inputs):
        """A call that holds its inputs, without memory for results."""
        cdef Call call = Call.__new__(Call)
        cdef int i
        call.program = self
        call.held = tuple(inputs)
        if len(call.held) != self.n_inputs:
            raise ValueError(f"a program of {self.n_inputs} inputs was given {len(call.held)}")
        call.pointers = <void **>malloc((self.n_inputs + 1) * sizeof(void *))
        if call.pointers == NULL:
            raise MemoryError()
        for i in range(self.n_inputs):
            call.pointers[i] = cnp.PyArray_DATA(<cnp.ndarray?>call.held[i])
        return call

    cdef list defer_known(self, Arguments *given, list needs, list donors, object function):
        """What `defer` returns, for a call of `function` whose signature is known.

        `donors` are as of `prepare`, or None.
        """
        cdef Call call = Call.__new__(Call)
        cdef Py_ssize_t n_scratch = 8 * given.scalars
        cdef char *scratch
        cdef char *place
        cdef int i
        self.queue.make_room(self.out_bytes)
        call.program = self
        call.held = tuple([<object>given.held[i] for i in range(given.n_held)])
        call.pointers = <void **>malloc((given.n + 1) * sizeof(void *) + n_scratch)
        if call.pointers == NULL:
            raise MemoryError()
        scratch = <char *>(call.pointers + given.n + 1)
        memcpy(scratch, given.scratch, n_scratch)
        for i in range(given.n):
            place = <char *>given.pointers[i]
            if given.scratch <= place < given.scratch + n_scratch:
                place = scratch + (place - given.scratch)
            call.pointers[i] = place
        name = getattr(function, "__name__", "a function")
        return self.push(call, needs, donors, _place_of_call(name))

    cdef list push(self, Call call, list needs, list donors, object place):
        """Has a call run later that holds its inputs; its results.

        The caller has waited for room in the queue. Other threads run meanwhile, and not from here on:
        none of them finds the donors once results lie in their memory.
        """
        cdef list values
        call.needs = tuple(needs)
        call.place = place
        call.is_allocated = True
        # Besides a buffer, what the caller was given and `held` refer to an input.
        values = call.values = self.allocate(&call.activation, call.pointers, donors, 3)
        self.queue.push(call)
        _hand_over(donors, values)
        return self.arrays(list(values), call)

    cdef inline int allocate_arena(self, Activation *a) except -1:
        """Takes the memory for temporaries of a call."""
        if self.arena_bytes:
            a.memory = jt_take(self.arena_bytes + 64)
            if a.memory == NULL:
                raise _no_memory(self.arena_bytes)
        return 0

    cdef inline list allocate(self, Activation *a, void **inputs, list donors, int known):
        """Makes `a` ready for a call on the data at `inputs`; returns its results, yet without contents.

        `_release` must follow, even if this fails; before the call runs, `allocate_arena`.

        Args:
          donors: as of `prepare`, or None.
          known: how many references to the data of a donor there are if nothing else refers to it.
        """
        cdef int i, k, nd
        cdef cnp.npy_intp dims[MAX_AXES]
        cdef tuple shape
        cdef cnp.ndarray value
        cdef list values = []
        jt_call_begin(&a.call, self.queue.pool.pool)
        a.inputs = inputs
        a.memory = NULL
        a.status = 0
        a.outputs = a.few_outputs
        if self.n_outputs > FEW:
            a.outputs = <void **>malloc(self.n_outputs * sizeof(void *))
            if a.outputs == NULL:
                raise MemoryError()
        for i in range(self.n_outputs):
            if donors and self.aliases is not None:
                k = self.aliases[i]
                if k >= 0 and _is_spare(<Buffer>donors[k], known):
                    value = <cnp.ndarray>(<Buffer>donors[k]).data
                    a.outputs[i] = cnp.PyArray_DATA(value)
                    values.append(value)
                    continue
            shape = <tuple>self.shapes[i]
            nd = <int>len(shape)
            for k in range(nd):
                dims[k] = shape[k]
            value = _new_array(nd, dims, self.descrs[i])
            a.outputs[i] = cnp.PyArray_DATA(value)
            values.append(value)
        return values

    cdef inline void execute(self, Activation *a) noexcept:
        """Runs a call in this thread, which holds Python's lock; `a` knows afterwards how it went."""
        cdef void *arena = _aligned(a.memory)
        cdef int64_t begin
        if self.release:
            with nogil:
                begin = jt_nanoseconds()
                a.status = self.entry(&a.call, a.inputs, a.outputs, arena)
                self.nanoseconds = jt_nanoseconds() - begin
        elif self.calls % CALLS_OF_A_LOOK == 0:
            begin = jt_nanoseconds()
            a.status = self.entry(&a.call, a.inputs, a.outputs, arena)
            self.nanoseconds = jt_nanoseconds() - begin
        else:
            a.status = self.entry(&a.call, a.inputs, a.outputs, arena)
            if a.call.polls >= POLLS_OF_LONG_CALLS:
                self.calls = 0  # the next call is timed
                return
        self.calls += 1

    cdef inline list arrays(self, list values, Call ready):
        """The results as arrays, in place; they are there when `ready` is complete, or at once if None."""
        cdef int i
        cdef Buffer buffer
        cdef NativeArray array
        for i in range(self.n_outputs):
            PyArray_CLEARFLAGS(<cnp.ndarray>values[i], cnp.NPY_ARRAY_WRITEABLE)
            buffer = _new_buffer(values[i], self.device)
            if ready is not None:
                buffer.ready = ready
            array = _new_array_of(buffer, self.out_avals[i])
            if self.placements is not None:
                array.placement = self.placements[i]
            values[i] = array
        return values

    cdef list run(self, void **inputs, list donors):
        """The three steps of a call at once: its results on the data at `inputs`, which the caller holds.

        `donors` are as of `prepare`, or None; besides their buffers, one reference holds their data.
        """
        cdef Activation a
        cdef list values
        try:
            values = self.allocate(&a, inputs, donors, 2)
            self.allocate_arena(&a)
            _give_up(donors)
            self.execute(&a)
        finally:
            _release(&a)
        if a.status != JT_SUCCEEDED:
            jt_raise(&a.call)
        return self.arrays(values, None)


cdef object _no_memory(Py_ssize_t nbytes):
    return MemoryError(f"no memory for {nbytes:,} bytes of temporaries")


cdef int _hand_over(list donors, list values) except -1:
    """Deletes the buffers that are donated to a deferred call with the results `values`.

    Calls that compute them drop the data in whose memory these results lie. The call is after them in
    the queue and holds that memory until it has run: the next donation finds no other user.
    """
    cdef Buffer donor
    cdef Call ready
    if donors:
        for donor in donors:
            if donor is None:
                continue
            data, ready = donor.data, donor.ready
            donor.delete()
            if ready is not None and not ready.has_ended and any([x is data for x in values]):
                ready.values = [x for x in ready.values if x is not data]
                ready.held = tuple([x for x in ready.held if x is not data])
    return 0


cdef inline void _give_up(donors) noexcept:
    """Deletes the buffers that are donated: `donors` are as of `Program.prepare`, or None."""
    if donors:
        for donor in donors:
            if donor is not None:
                (<Buffer>donor).delete()
