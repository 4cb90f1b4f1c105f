# Compiled programs and their calls; a part of `_native.pyx`.
#
# A call has three steps. `prepare` checks the inputs and holds them, and allocates results and arena.
# `enqueue` gives the call to the queue of a device, which runs it. `complete` raises what it has failed
# with, or hands over the results. What a call needs in between is in an `Activation`: on the stack for
# calls that run at once (`fast_calls.pxi`), in a `Call` for those that wait.

cdef extern from "Python.h":
    PyObject *PyErr_Occurred()

ctypedef int32_t (*Entry)(
    jt_call *call, void **inputs, void **outputs, void *arena
) noexcept nogil

cdef enum:
    MAX_AXES = 64  # of NumPy's arrays
    FEW = 8  # results whose addresses need no memory from the heap


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

    def __init__(
        self, entry, n_inputs, out_types, out_avals, arena_bytes, release, device, Queue queue,
        placements, aliases, keep_alive,
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
        if max(map(len, self.shapes), default=0) > MAX_AXES:
            raise ValueError(f"no array has more than {MAX_AXES} axes in memory: {self.shapes}")
        if len(self.out_avals) != self.n_outputs:
            raise ValueError(f"{self.n_outputs} results of {len(self.out_avals)} types")

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
        call.is_allocated = True
        # Besides a buffer, the caller's list and `held` refer to an input.
        call.values = self.allocate(&call.activation, call.pointers, list(donors), 3)
        return call

    cdef inline list allocate(self, Activation *a, void **inputs, list donors, int known):
        """Makes `a` ready for a call on the data at `inputs`; returns its results, yet without contents.

        `_release` must follow, even if this fails.

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
        if self.arena_bytes:
            a.memory = jt_take(self.arena_bytes + 64)
            if a.memory == NULL:
                raise MemoryError(f"no memory for {self.arena_bytes:,} bytes of temporaries")
        if donors:
            for donor in donors:
                if donor is not None:
                    (<Buffer>donor).delete()
        return values

    cdef inline void execute(self, Activation *a) noexcept:
        """Runs a call in this thread, which holds Python's lock; `a` knows afterwards how it went."""
        cdef void *arena = <void *>((<uintptr_t>a.memory + 63) & ~<uintptr_t>63)
        if self.release:
            with nogil:
                a.status = self.entry(&a.call, a.inputs, a.outputs, arena)
        else:
            a.status = self.entry(&a.call, a.inputs, a.outputs, arena)

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
            self.queue.run(self, &a)
        finally:
            _release(&a)
        if a.status != JT_SUCCEEDED:
            jt_raise(&a.call)
        return self.arrays(values, None)


@cython.final
cdef class Call:
    """A call of a program that was prepared: `Program.prepare` makes it, `Queue.enqueue` runs it.

    It is the token of what it computes: buffers of its results refer to it until it is complete.
    """

    cdef Program program
    cdef tuple held  # the inputs' ndarrays
    cdef void **pointers
    cdef list values  # the results' ndarrays
    cdef Activation activation
    cdef bint is_allocated
    cdef bint is_enqueued
    cdef readonly bint is_complete
    cdef object error

    def __dealloc__(self):
        self.release()

    cdef void release(self) noexcept:
        """Frees what only running it needs."""
        if self.is_allocated:
            _release(&self.activation)
        self.is_allocated = False
        free(self.pointers)
        self.pointers = NULL

    @property
    def results(self):
        """The results as arrays, which may be waited for."""
        return self.program.arrays(list(self.values), None if self.is_complete else self)

    def complete(self):
        """Waits for the call; its results, as a list of arrays.

        Raises:
          RuntimeError: if it was not enqueued.
          BaseException: what a Python function that the program called, or a handler of a signal,
            raised.
        """
        self.check()
        return self.program.arrays(list(self.values), None)

    cdef int check(self) except -1:
        """Waits for the call, and raises what it has failed with, as often as it is asked."""
        if not self.is_complete:
            raise RuntimeError("a call was waited for before it was enqueued")
        if self.error is not None:
            raise self.error
        return 0

    cdef void end(self) noexcept:
        """Notes that it has run: lets its inputs go, and keeps what it has failed with."""
        self.held = None
        self.release()
        if self.activation.status != JT_SUCCEEDED:
            try:
                jt_raise(&self.activation.call)
            except BaseException as error:
                self.error = error
        self.is_complete = True


@cython.final
cdef class Queue:
    """The calls of one device, in their order.

    Calls run in the thread that enqueues them, when it does, and are complete when `enqueue` returns: so
    one thread's calls run one after another, and a Python function that a program calls may make calls
    of its own. The device's threads divide their loops.

    Args:
      pool: the device's threads.
    """

    cdef readonly ThreadPool pool

    def __init__(self, ThreadPool pool not None):
        self.pool = pool

    def enqueue(self, Call call not None):
        """Runs a call that was prepared for this queue's device, and returns it.

        Raises:
          ValueError: if it was enqueued before, or prepared for another device.
        """
        if call.is_enqueued:
            raise ValueError("a call was enqueued twice")
        if call.program.queue is not self:
            raise ValueError(f"a call of a program for {call.program.device} is in another queue")
        call.is_enqueued = True
        self.run(call.program, &call.activation)
        call.end()
        return call

    cdef inline void run(self, Program program, Activation *a) noexcept:
        program.execute(a)
