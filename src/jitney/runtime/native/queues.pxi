# Prepared calls, and the queues of devices that run them; a part of `_native.pyx`.

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1
    int Py_AddPendingCall(int (*function)(void *) except -1, void *argument)
    unsigned long PyThread_get_thread_ident()

cdef enum:
    MOST_DEFERRED = 16  # the maximum number of unfinished calls of a queue

# The maximum size of their results in bytes; a call with larger results must be the only one.
cdef Py_ssize_t MOST_DEFERRED_BYTES = 256 << 20

cdef int64_t NEVER = 0x7FFFFFFFFFFFFFFF
cdef int64_t _deferred_from = NEVER  # nanoseconds of a program's last call
cdef int64_t _deferred_between_forks = NEVER  # the value of `_deferred_from` while no thread forks
cdef int _forks = 0  # the number of forks in progress
cdef object _raised_before_fork = None  # the exception of a signal handler
cdef object _interrupted = None  # function that returns the error of an interrupted call


def defer_calls_from(nanoseconds, interrupted):
    """Sets the duration of a program's last call from which its next call is deferred.

    Args:
      nanoseconds: the duration; None if no call is to be deferred.
      interrupted: a function of the type of a signal handler's exception and the place of a call. It
        returns the error that is raised for the results of a call that this exception has ended.
    """
    global _deferred_between_forks, _interrupted
    _deferred_between_forks = NEVER if nanoseconds is None else nanoseconds
    _interrupted = interrupted
    _count_forks(0)


cdef int _count_forks(int change) noexcept:
    global _forks, _deferred_from
    _forks += change
    _deferred_from = NEVER if _forks else _deferred_between_forks
    return 0


cdef struct Deferred:
    jt_task task
    Entry entry
    Activation *activation
    Py_ssize_t arena_bytes
    int64_t *nanoseconds
    bint has_no_memory


cdef int _run_deferred(jt_task *task) noexcept nogil:
    """Runs a deferred call in a thread that need not be a Python thread; returns whether it succeeds."""
    cdef Deferred *d = <Deferred *>task
    cdef Activation *a = d.activation
    cdef int64_t begin = jt_nanoseconds()
    if jt_is_stopped(&a.call):
        return False
    if d.arena_bytes:
        a.memory = jt_take(d.arena_bytes + 64)
        if a.memory == NULL:
            d.has_no_memory = True
            return False
    a.status = d.entry(&a.call, a.inputs, a.outputs, _aligned(a.memory))
    jt_give(a.memory)
    a.memory = NULL
    d.nanoseconds[0] = jt_nanoseconds() - begin
    return a.status == JT_SUCCEEDED


@cython.final
cdef class Call:
    """A prepared call of a program; `Program.prepare` creates it, and `Queue.enqueue` runs it.

    The buffers of its results refer to it until it is complete.
    """

    cdef Program program
    cdef tuple held  # the inputs' ndarrays
    cdef void **pointers
    cdef list values  # the results' ndarrays; None once a deferred call has ended
    cdef Activation activation
    cdef bint is_allocated
    cdef bint is_enqueued
    cdef bint has_ended  # whether its inputs were released
    cdef object error  # for a deferred call, only copies are raised, so this object has no traceback
    # Of deferred calls:
    cdef bint is_deferred
    cdef Deferred deferred
    cdef tuple needs  # calls that compute its inputs
    cdef jt_task **needed_tasks
    cdef object place  # (function, code of its caller, offset of the call in that)
    cdef bint was_interrupted  # by an exception of a signal handler, whose type is `error`
    cdef object interruption  # the type of the exception that ended the wait for it
    cdef object dropped  # an exception that was raised for it and ignored; the next use raises it again
    cdef unsigned long thread  # the thread that made it

    def __dealloc__(self):
        self.release()

    cdef void release(self) noexcept:
        """Frees everything that is needed only to run the call."""
        if self.is_allocated:
            _release(&self.activation)
            jt_forget_failure(&self.activation.call)
        self.is_allocated = False
        free(self.pointers)
        free(self.needed_tasks)
        self.pointers = NULL
        self.needed_tasks = NULL

    @property
    def is_complete(self):
        """Returns whether the call has run."""
        return self.is_done()

    cdef inline bint is_done(self) noexcept:
        return self.has_ended or (self.is_deferred and jt_is_done(&self.deferred.task))

    @property
    def results(self):
        """Returns the results as arrays, which can be waited for."""
        return self.program.arrays(list(self.values), None if self.has_ended else self)

    def complete(self):
        """Waits for the call and returns its results, a list of arrays.

        Raises:
          RuntimeError: if it was not enqueued.
          BaseException: the exception of a Python function that the program called, or of a signal
            handler.
        """
        self.check()
        return self.program.arrays(list(self.values), None)

    cdef int check(self) except -1:
        """Waits for the call, and raises its error, if any; it can be called repeatedly."""
        error = self.dropped
        if error is not None:
            self.dropped = None
            raise error
        if not self.has_ended:
            if not self.is_enqueued:
                raise RuntimeError("a call was waited for before it was enqueued")
            self.program.queue.wait(self)
        if self.error is None:
            return 0
        if self.was_interrupted:
            raise _interrupted(self.error, self.place)
        if self.is_deferred:
            raise _copy_of_error(self.error)
        raise self.error

    cdef int references_to(self, object data) noexcept:
        """Returns the number of references that it has to the data of a result, if it has not ended."""
        cdef int n = 0
        if not self.has_ended:
            for x in self.values:
                n += x is data
            for x in self.held:
                n += x is data
        return n

    cdef int prepare_task(self) except -1:
        """Creates the task of a deferred call."""
        cdef Py_ssize_t n = len(self.needs), k
        cdef Deferred *d = &self.deferred
        if n:
            self.needed_tasks = <jt_task **>malloc(n * sizeof(jt_task *))
            if self.needed_tasks == NULL:
                raise MemoryError()
            for k in range(n):
                self.needed_tasks[k] = &(<Call>self.needs[k]).deferred.task
        d.task.run = _run_deferred
        d.task.needs = self.needed_tasks
        d.task.n_needs = <int>n
        d.entry = self.program.entry
        d.activation = &self.activation
        d.arena_bytes = self.program.arena_bytes
        d.nanoseconds = &self.program.nanoseconds
        d.has_no_memory = False
        self.thread = PyThread_get_thread_ident()
        self.is_deferred = True
        return 0

    cdef void end(self) noexcept:
        """Records that the call has run: releases its inputs, and stores its error, if any.

        It runs no Python code, so that calls end in order.
        """
        if self.activation.status != JT_SUCCEEDED:
            self.keep_failure()
        self.has_ended = True
        self.release()
        self.held = self.needs = None
        if self.is_deferred:
            self.values = None
        if not self.was_interrupted:
            self.place = None

    cdef void keep_failure(self) noexcept:
        """Stores the error of a call that has run."""
        cdef Call needed
        if self.is_deferred:
            if self.interruption is not None:
                self.error = self.interruption
                self.was_interrupted = True
                return
            for needed in self.needs:
                if needed.error is not None:
                    self.error = needed.error
                    self.was_interrupted = needed.was_interrupted
                    return
            if self.deferred.has_no_memory:
                self.error = _no_memory(self.program.arena_bytes)
                self.add_place()
                return
        try:
            jt_raise(&self.activation.call)
        except BaseException as error:
            if not self.is_deferred:
                self.error = error
            elif self.activation.call.interrupted:
                self.error = type(error)
                self.was_interrupted = True
                self.program.queue.raised_by_handler = error
            else:
                self.error = error.with_traceback(None)
                self.add_place()

    cdef void add_place(self) noexcept:
        """Adds a note to the error of a deferred call that states where the call was made."""
        if self.place is None:
            return
        name, code, offset = self.place
        for begin, end, line in code.co_lines():
            if begin <= offset < end:
                self.error.add_note(
                    f"in the call of {name} in {code.co_filename}, line {line}, which ran later"
                )
                break


cdef object _copy_of_error(error):
    """Returns a copy of the stored error of a deferred call, to be raised.

    A raised exception refers to frames, and these to arrays, whose buffers the cycle collector does not
    traverse. Therefore, the call to which the buffers refer must not refer to the raised exception.
    """
    copy = type(error)(*error.args)
    for note in getattr(error, "__notes__", ()):
        copy.add_note(note)
    return copy


@cython.final
cdef class Queue:
    """The calls of one device, in order.

    `enqueue` runs a call in the calling thread, and returns when the call is complete, so a Python
    function that a program calls can call other programs. `push` defers calls, which then run one after
    another. The device's threads share their loops.

    Args:
      pool: the device's threads.
    """

    cdef readonly ThreadPool pool
    cdef jt_queue *tasks
    cdef list deferred  # calls that were pushed and have not ended, in order
    cdef Py_ssize_t deferred_bytes  # the size of their results
    cdef object raised_by_handler  # an exception of a signal handler while the main thread ran a call

    def __init__(self, ThreadPool pool not None):
        self.pool = pool
        self.deferred = []
        self.tasks = jt_queue_new()
        if self.tasks == NULL:
            raise MemoryError()

    def __dealloc__(self):
        if self.tasks != NULL:
            jt_queue_free(self.tasks)

    def enqueue(self, Call call not None):
        """Runs a call that was prepared for this queue's device, and returns it.

        Raises:
          ValueError: if it was enqueued before, or prepared for another device.
        """
        if call.is_enqueued:
            raise ValueError("a call was enqueued twice")
        if call.program.queue is not self:
            raise ValueError(f"a call of a program for {call.program.device} was enqueued for another device")
        call.is_enqueued = True
        call.program.execute(&call.activation)
        call.end()
        return call

    cdef int make_room(self, Py_ssize_t nbytes) except -1:
        """Waits until there is room in the queue for a call with results of `nbytes` bytes."""
        self.end_done()
        while self.deferred and (
            len(self.deferred) >= MOST_DEFERRED
            or self.deferred_bytes + nbytes > MOST_DEFERRED_BYTES
        ):
            self.wait(<Call>self.deferred[0])
        return 0

    cdef int push(self, Call call) except -1:
        """Defers a call, which runs after the calls that were pushed before; see `make_room`."""
        call.prepare_task()
        if not self.deferred:
            _busy_queues.append(self)
        self.deferred.append(call)
        self.deferred_bytes += call.program.out_bytes
        call.is_enqueued = True
        jt_queue_push(self.tasks, &call.deferred.task)
        return 0

    cdef int end_done(self) except -1:
        """Ends the calls that have run."""
        cdef Call call
        while self.deferred:
            call = <Call>self.deferred[0]
            if not jt_is_done(&call.deferred.task):
                break
            del self.deferred[0]
            self.deferred_bytes -= call.program.out_bytes
            if not self.deferred:
                _busy_queues.remove(self)
            call.end()
        return 0

    cdef int wait(self, Call call) except -1:
        """Waits until a call that was pushed has ended; signal handlers run in the meantime.

        If a handler raises an exception, the calls of this thread up to `call` are abandoned, and uses of
        their results raise an error.

        Raises:
          RuntimeError: if a signal handler waits in a thread in which it has interrupted a call of this
            queue.
        """
        cdef jt_task *task = &call.deferred.task
        while not call.has_ended:
            if not jt_is_done(task) and jt_queue_runs_here(self.tasks):
                raise RuntimeError(
                    "a signal handler has read an array whose computation it has interrupted"
                )
            with nogil:
                jt_queue_wait(self.tasks, task)
            self.end_done()
            try:
                self.look_for_signals()
            except BaseException as error:
                self.give_up(call, error)
                raise
        return 0

    cdef int look_for_signals(self) except -1:
        """Runs signal handlers and raises their exceptions, in the main thread."""
        error = self.raised_by_handler
        if error is not None and PyThread_get_thread_ident() == jt_main_thread:
            self.raised_by_handler = None
            raise error
        PyErr_CheckSignals()
        return 0

    cdef int give_up(self, Call last, error) except -1:
        """Stops the calls of this thread up to `last`, because `error` has ended the wait for them."""
        cdef Call call
        cdef unsigned long thread = PyThread_get_thread_ident()
        if last.has_ended:  # it was interrupted itself, or is done; the calls after it continue
            return 0
        for call in list(self.deferred):
            if call.thread == thread:
                call.interruption = type(error)
                jt_stop(&call.activation.call)
            if call is last:
                break
        return 0


cdef list _busy_queues = []  # queues with deferred calls that have not ended


def end_deferred_calls():
    """Waits for all deferred calls; their errors are raised when their results are used."""
    cdef Queue queue
    while _busy_queues:
        queue = _busy_queues[0]
        queue.wait(<Call>queue.deferred[len(queue.deferred) - 1])


def prepare_to_fork():
    """Waits for all deferred calls, and disables deferral until `end_fork` is called.

    Exceptions of signal handlers during the wait are raised after the fork, because Python ignores
    exceptions that are raised before it.
    """
    global _raised_before_fork
    cdef Queue queue
    cdef list queues
    _count_forks(1)
    while True:
        # A signal handler that has interrupted a call may fork; that call continues in both processes.
        queues = [x for x in _busy_queues if not jt_queue_runs_here((<Queue>x).tasks)]
        if not queues:
            break
        queue = queues[0]
        try:
            queue.wait(<Call>queue.deferred[len(queue.deferred) - 1])
        except BaseException as error:
            if _raised_before_fork is None:
                _raised_before_fork = error


def end_fork(bint is_child):
    """Enables deferral again after a fork, in the parent or in the child."""
    global _raised_before_fork
    _count_forks(-_forks if is_child else -1)
    if is_child:
        _raised_before_fork = None
    if _raised_before_fork is not None:
        Py_AddPendingCall(_raise_after_fork, NULL)


cdef int _raise_after_fork(void *_) except -1:
    """Raises, in the main thread, the exception of a signal handler from before a fork."""
    global _raised_before_fork
    error, _raised_before_fork = _raised_before_fork, None
    if error is not None:
        raise error
    return 0


cdef int _end_done_calls(void *_) noexcept:
    """Ends deferred calls that have run and are not waited for, as their inputs may be large."""
    jt_unnote_idle()
    for queue in list(_busy_queues):
        (<Queue>queue).end_done()
    return 0


jt_set_on_idle(_end_done_calls)


def leave_done_calls():
    """Stops the threads of queues from using the interpreter, which is about to end."""
    jt_set_on_idle(NULL)


cdef list _run_later(Program program, Arguments *given, list donors, object function):
    """Returns the results of a deferred call: its inputs are deferred, or its program takes long."""
    cdef list needs = [] if given.pending == NULL else list(<list>given.pending)
    cdef Call need
    cdef bint is_deferrable = program.is_deferrable_now and not given.has_ndarrays
    for need in needs:
        if need.has_ended or need.program.queue is not program.queue or not is_deferrable:
            need.check()
    if not is_deferrable:
        return program.run(given.pointers, donors)
    return program.defer_known(given, needs, donors, function)


def data_to_come(NativeArray x not None, Queue queue not None, list needs not None):
    """Returns the data of an array; if a call of `queue` has yet to compute them, adds it to `needs`.

    It waits for calls of other queues. The result is None if the data were deleted.
    """
    cdef Buffer buffer = x.buffer
    cdef Call call = buffer.ready
    if call is None or not call.is_deferred or call.program.queue is not queue or call.is_done():
        return _wait(buffer)
    if call not in needs:
        needs.append(call)
    return buffer.data


cdef bint _has_arrived(Buffer buffer) except -1:
    """Returns whether the data of a buffer that a call computes are available."""
    cdef Call call = buffer.ready
    if call is None:
        return True
    if not call.is_done():
        return False
    if not call.has_ended:
        call.program.queue.end_done()
    if not call.has_ended or call.error is not None or call.dropped is not None:
        return False
    buffer.ready = None
    return True
