/* The state of one call of a program, which its code, the functions that it calls and the threads that
   work for it share. Entries and kernels take its address as their first argument, and pass it on.

   The error of a call is stored here and not in a thread: the thread in which the error occurs stores
   it, and the thread that completes the call raises it. */

#ifndef JITNEY_CALL_H
#define JITNEY_CALL_H

#include <Python.h>
#include <stdatomic.h>
#include <stdint.h>

/* The value that entries of programs, and the functions that they call, return on success. Any other
   value is a failure, whose error is stored in the call. */
enum { JT_SUCCEEDED = 1 };

struct jt_pool;

typedef struct {
    struct jt_pool *pool; /* the device's threads, which divide its loops */
    atomic_int stopped;   /* set on failure: work that has not begun is skipped */
    /* how often the thread that runs the call, unless it is a worker, has called `jt_poll` */
    unsigned polls;
    /* whether a handler of a signal has raised; accessed with Python's lock held */
    int interrupted;
    PyObject *type, *value, *traceback; /* the error; accessed with Python's lock held */
} jt_call;

static void jt_call_begin(jt_call *call, struct jt_pool *pool) {
    call->pool = pool;
    atomic_init(&call->stopped, 0);
    call->polls = 0;
    call->interrupted = 0;
    call->type = call->value = call->traceback = NULL;
}

/* Makes the call fail without an error of its own. */
static inline void jt_stop(jt_call *call) { atomic_store(&call->stopped, 1); }

static inline int jt_is_stopped(jt_call *call) { return atomic_load(&call->stopped); }

/* Makes the call fail with this thread's current exception, which is cleared. Only the first error of a
   call is stored. The thread holds Python's lock. */
static void jt_fail(jt_call *call) {
    if (call->type == NULL)
        PyErr_Fetch(&call->type, &call->value, &call->traceback);
    else
        PyErr_Clear();
    atomic_store(&call->stopped, 1);
}

/* Raises the error of the call, once, and returns -1. The thread holds Python's lock. */
static int jt_raise(jt_call *call) {
    if (call->type == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "a compiled program failed without an error message");
        return -1;
    }
    PyErr_Restore(call->type, call->value, call->traceback);
    call->type = call->value = call->traceback = NULL;
    return -1;
}

/* Releases the error of the call. The thread holds Python's lock. */
static void jt_forget_failure(jt_call *call) {
    Py_CLEAR(call->type);
    Py_CLEAR(call->value);
    Py_CLEAR(call->traceback);
}

#endif
