# Compiled programs and their calls; a part of `_native.pyx`.
#
# A call has three steps. `prepare` checks the inputs, keeps them alive, and allocates the results and
# the arena. `enqueue` passes the call to the queue of a device, which runs it. `complete` returns the
# results or raises the call's error. The state of a call is an `Activation`: on the stack for calls that
# run immediately (`fast_calls.pxi`), and in a `Call` for deferred ones.
#
# A call is deferred if the program's last call took long: `Program.defer` returns arrays immediately,
# and the queue runs the call later (`queues.pxi`). Calls on results of deferred calls are deferred, too.
# Programs that call Python functions are never deferred, so that effects happen in order.

cdef extern from "Python.h":
    PyObject *PyErr_Occurred()

ctypedef int32_t (*Entry)(
    jt_call *call, void **inputs, void **outputs, void *arena
) noexcept nogil

cdef enum:
    MAX_AXES = 64  # of NumPy's arrays
    FEW = 8  # the addresses of so many results need no heap memory
    CALLS_OF_A_LOOK = 64  # one in so many calls of a program that is estimated to be short is timed
    POLLS_OF_LONG_CALLS = 4  # there are some hundred microseconds between two polls


def use_host_function(function):
    """Sets the function f(number, address) that runs Python functions for programs.

    The addresses of the operands and results are stored at `address`. Errors of the Python function
    propagate.
    """
    jt_set_host_function(function)


def call_host_address():
    """Returns the address of `int32 call_host(call, int64 number, ptr slots)`, which calls Python functions.

    `call_host` returns 1 if the function has returned. Otherwise, the call has stored the exception, and
    raises it when it is completed. Thus, no exception is lost or raised in another thread, wherever a
    signal handler raises.
    """
    return <uintptr_t>&jt_call_host


def poll_address():
    """Returns the address of `int32 poll(call)`; unless it returns 1, the call has failed and must end."""
    return <uintptr_t>&jt_poll


def transpose_addresses():
    """Returns, for each element size in bits, the address of the function that transposes blocks:
    `void transpose(target, target_step, source, source_step, rows, columns)`."""
    return {
        8: <uintptr_t>&jt_transpose_8,
        16: <uintptr_t>&jt_transpose_16,
        32: <uintptr_t>&jt_transpose_32,
        64: <uintptr_t>&jt_transpose_64,
        128: <uintptr_t>&jt_transpose_128,
    }


def set_main_thread(unsigned long number):
    """Sets the identity of the thread that handles signals."""
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
    """Frees the memory that `Program.allocate` has allocated, except the results."""
    if a.outputs != a.few_outputs:
        free(a.outputs)
    jt_give(a.memory)


cdef inline void *_aligned(void *memory) noexcept nogil:
    """Returns the address of the arena within `memory`, aligned to a cache line."""
    return <void *>((<uintptr_t>memory + 63) & ~<uintptr_t>63)


@cython.final
cdef class Program:
    """A compiled program that can be called.

    References to the ndarrays of a call's inputs must be held until the call ends: programs call Python
    functions and run in parallel with other threads, which may delete or donate arrays, or change the
    containers in which they were passed.

    Args:
      entry: address of `i32 entry(ptr call, ptr inputs, ptr outputs, ptr arena)`.
      n_inputs: number of inputs.
      out_types: (dtype, shape in memory) of each result: of 64 axes at most.
      out_avals: types of the results.
      arena_bytes: memory for temporaries.
      release: whether the GIL is released during a call.
      device: the device that owns the results; if there are several, the first one.
      queue: the queue that runs its calls.
      placements: the placement of each result; None if no operand has one.
      aliases: for each result, the input whose memory it uses if that input is donated and nothing else
        refers to its memory; -1 for a result with its own memory. None if all results have their own.
      keep_alive: objects that the code needs.
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
            raise ValueError(f"expected results with at most {MAX_AXES} axes in memory, got the shapes {self.shapes}")
        if len(self.out_avals) != self.n_outputs:
            raise ValueError(f"expected a type for each of {self.n_outputs} results, got {len(self.out_avals)}")

    @property
    def is_deferrable_now(self):
        """Returns whether its calls may be deferred; see `defer`."""
        return (
            self.is_deferrable
            and _deferred_from != NEVER
            and not jt_queue_runs_here(self.queue.tasks)
        )

    @property
    def takes_long(self):
        """Returns whether its next call should be deferred, as the last one took long."""
        return self.nanoseconds >= _deferred_from

    def prepare(self, inputs, donors=()):
        """Returns a call on contiguous ndarrays of the program's input types, ready to be enqueued.

        Args:
          inputs: a list of the ndarrays.
          donors: the buffers of donated inputs, and None for others; empty if none is donated. They are
            deleted, and results may use their memory.

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
        """Returns the results of a deferred call, as arrays that can be waited for.

        Args:
          inputs, donors: as in `prepare`.
          needs: the calls of this program's queue that compute inputs; see `data_to_come`.
          place: (name of the function, code of its caller, offset of the call in that).

        Raises:
          ValueError: if there are more or fewer inputs than the program has.
          MemoryError: if there is no memory for results.
        """
        self.queue.make_room(self.out_bytes)
        return self.push(self.call_on(inputs), needs, list(donors), place)

    cdef Call call_on(self, inputs):
        """Returns a call that holds its inputs and has no memory for results yet."""
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
        """Returns the results of `defer` for a call of `function` whose signature is known.

        `donors` is as in `prepare`, or None.
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
        """Defers a call that holds its inputs, and returns its results.

        The caller has waited for room in the queue. Other threads may run during that wait, but not
        afterwards, so none of them accesses the donors once results use their memory.
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
        """Allocates the memory for temporaries of a call."""
        if self.arena_bytes:
            a.memory = jt_take(self.arena_bytes + 64)
            if a.memory == NULL:
                raise _no_memory(self.arena_bytes)
        return 0

    cdef inline list allocate(self, Activation *a, void **inputs, list donors, int known):
        """Prepares `a` for a call on the data at `inputs`; returns its results, which are uninitialized.

        `_release` must be called afterwards, even if this method fails. `allocate_arena` must be called
        before the call runs.

        Args:
          donors: as in `prepare`, or None.
          known: the number of references to the data of a donor if nothing else refers to them.
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
        """Runs a call in this thread, which holds the GIL, and records its status in `a`."""
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
        """Replaces the data in `values` by arrays, which `ready` computes unless it is None."""
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
        """Performs all steps of a call on the data at `inputs`, which the caller holds; returns the results.

        `donors` is as in `prepare`, or None; besides the buffer, there is one reference to a donor's data.
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

    Calls that compute these buffers drop the data whose memory the results use. The deferred call is
    behind them in the queue and holds that memory until it has run, so the next donation finds no other
    user.
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
    """Deletes the donated buffers `donors`, which are as in `Program.prepare`, or None."""
    if donors:
        for donor in donors:
            if donor is not None:
                (<Buffer>donor).delete()
