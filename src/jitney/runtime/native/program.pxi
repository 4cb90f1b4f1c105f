# Calls of compiled programs; a part of `_native.pyx`.

cdef extern from "host.h":
    enum: JT_SUCCEEDED
    void jt_set_host_function(object function)
    int32_t jt_call_host(int64_t number, void **slots) nogil

cdef extern from "signals.h":
    unsigned long jt_main_thread
    int32_t jt_poll() nogil

cdef extern from "Python.h":
    PyObject *PyErr_Occurred()

ctypedef int32_t (*Entry)(void **inputs, void **outputs, void *arena) noexcept nogil

cdef enum:
    MAX_AXES = 64  # of NumPy's arrays
    FEW = 8  # results whose addresses need no memory from the heap


def use_host_function(function):
    """Sets what runs Python functions for programs: a function of their number and of an address.

    At the address are those of the function's operands and results. It raises what the function raises.
    """
    jt_set_host_function(function)


def call_host_address():
    """Address of `int32 call_host(int64 number, ptr slots)`, by which programs call Python functions.

    It returns 1 if the function has returned. All else is a failure: the exception is then this
    thread's current one, as it is between functions of C, until the program's caller raises it. So none
    can be lost, or get into another thread, wherever a handler of a signal raises.
    """
    return <uintptr_t>&jt_call_host


def poll_address():
    """Address of `int32 poll()`: 1, or else the program has to end, as a handler of a signal raised."""
    return <uintptr_t>&jt_poll


def set_main_thread(unsigned long number):
    """Says which thread handles signals."""
    global jt_main_thread
    jt_main_thread = number


cdef class Program:
    """What calling a compiled program takes.

    The data of a call's inputs must be held, by references to the ndarrays, until it returns: programs
    call Python functions and run beside other threads, and either may delete arrays, give them away or
    change the containers that they were passed in.

    Args:
      entry: address of `i32 entry(ptr inputs, ptr outputs, ptr arena)`.
      n_inputs: number of inputs.
      out_types: (dtype, shape in memory) of each result: of 64 axes at most.
      out_avals: types of the results.
      arena_bytes: memory for temporaries.
      release: whether other Python threads run meanwhile.
      keep_alive: what the code needs.
    """

    cdef Entry entry
    cdef int n_inputs
    cdef int n_outputs
    cdef Py_ssize_t arena_bytes
    cdef bint release
    cdef public tuple out_avals
    cdef tuple descrs
    cdef tuple shapes
    cdef object keep_alive

    def __init__(self, entry, n_inputs, out_types, out_avals, arena_bytes, release, keep_alive):
        self.entry = <Entry><uintptr_t>entry
        self.n_inputs = n_inputs
        self.n_outputs = len(out_types)
        self.descrs = tuple([d for d, _ in out_types])
        self.shapes = tuple([tuple(s) for _, s in out_types])
        self.out_avals = tuple(out_avals)
        self.arena_bytes = arena_bytes
        self.release = release
        self.keep_alive = keep_alive
        if max(map(len, self.shapes), default=0) > MAX_AXES:
            raise ValueError(f"no array has more than {MAX_AXES} axes in memory: {self.shapes}")
        if len(self.out_avals) != self.n_outputs:
            raise ValueError(f"{self.n_outputs} results of {len(self.out_avals)} types")

    def run(self, inputs):
        """Results on contiguous ndarrays of the right types, as a list of arrays.

        Raises:
          ValueError: if there are more or fewer inputs than the program has.
          BaseException: what a Python function called by the program, or a handler of a signal, raised.
        """
        cdef tuple held = tuple(inputs)
        cdef void **pointers
        cdef int i
        if len(held) != self.n_inputs:
            raise ValueError(f"a program of {self.n_inputs} inputs was given {len(held)}")
        pointers = <void **>malloc((self.n_inputs + 1) * sizeof(void *))
        if pointers == NULL:
            raise MemoryError()
        try:
            for i in range(self.n_inputs):
                pointers[i] = cnp.PyArray_DATA(<cnp.ndarray?>held[i])
            return self.call(pointers)
        finally:
            free(pointers)

    cdef list call(self, void **inputs):
        """Results on the data at `inputs`, which somebody holds."""
        cdef void *few[FEW]
        cdef void **outputs = few
        cdef void *arena = NULL
        cdef void *aligned = NULL
        cdef int i, k, nd
        cdef int32_t status = 0
        cdef cnp.npy_intp dims[MAX_AXES]
        cdef tuple shape
        cdef cnp.ndarray value
        cdef list results = []
        if self.n_outputs > FEW:
            outputs = <void **>malloc(self.n_outputs * sizeof(void *))
            if outputs == NULL:
                raise MemoryError()
        try:
            for i in range(self.n_outputs):
                shape = <tuple>self.shapes[i]
                nd = <int>len(shape)
                for k in range(nd):
                    dims[k] = shape[k]
                value = _new_array(nd, dims, self.descrs[i])
                outputs[i] = cnp.PyArray_DATA(value)
                results.append(value)
            if self.arena_bytes:
                arena = malloc(self.arena_bytes + 64)
                if arena == NULL:
                    raise MemoryError(f"no memory for {self.arena_bytes} bytes of temporaries")
                aligned = <void *>((<uintptr_t>arena + 63) & ~<uintptr_t>63)
            if self.release:
                with nogil:
                    status = self.entry(inputs, outputs, aligned)
            else:
                status = self.entry(inputs, outputs, aligned)
        finally:
            if outputs != few:
                free(outputs)
            if arena != NULL:
                free(arena)
        if status != JT_SUCCEEDED:
            _raise_current()
        for i in range(self.n_outputs):
            PyArray_CLEARFLAGS(<cnp.ndarray>results[i], cnp.NPY_ARRAY_WRITEABLE)
            results[i] = wrap(results[i], self.out_avals[i])
        return results


cdef int _raise_current() except -1:
    """Raises the exception that a program left as this thread's current one."""
    if PyErr_Occurred() == NULL:
        raise RuntimeError("a compiled program failed without saying why")
    return -1
