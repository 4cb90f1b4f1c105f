/* One call of a program: what its code, the functions that it calls and the threads that work for it
   share. Entries and kernels get its address first, and hand it on.

   What a call fails with is kept here, not in a thread: whichever thread meets the error notes it, and
   the thread that completes the call raises it. */

#ifndef JITNEY_CALL_H
#define JITNEY_CALL_H

#include <Python.h>
#include <stdatomic.h>
#include <stdint.h>

/* What entries of programs, and the functions that they call, return if all went well. All else is a
   failure, of which the call knows more. */
enum { JT_SUCCEEDED = 1 };

struct jt_pool;

typedef struct {
    struct jt_pool *pool; /* the device's threads, which divide its loops */
    atomic_int stopped;   /* it has failed: what has not begun is left out */
    unsigned polls;       /* by the thread that runs it, unless that is a worker */
    int interrupted;      /* by the handler of a signal; touched with Python's lock held */
    PyObject *type, *value, *traceback; /* what it failed with; touched with Python's lock held */
} jt_call;

static void jt_call_begin(jt_call *call, struct jt_pool *pool) {
    call->pool = pool;
    atomic_init(&call->stopped, 0);
    call->polls = 0;
    call->interrupted = 0;
    call->type = call->value = call->traceback = NULL;
}

/* Has the call fail without an error of its own. */
static inline void jt_stop(jt_call *call) { atomic_store(&call->stopped, 1); }

static inline int jt_is_stopped(jt_call *call) { return atomic_load(&call->stopped); }

/* Has the call fail with this thread's current exception, which is current no longer; the first one
   counts. The thread holds Python's lock. */
static void jt_fail(jt_call *call) {
    if (call->type == NULL)
        PyErr_Fetch(&call->type, &call->value, &call->traceback);
    else
        PyErr_Clear();
    atomic_store(&call->stopped, 1);
}

/* Raises what the call has failed with, once; -1. The thread holds Python's lock. */
static int jt_raise(jt_call *call) {
    if (call->type == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "a compiled program failed without an error message");
        return -1;
    }
    PyErr_Restore(call->type, call->value, call->traceback);
    call->type = call->value = call->traceback = NULL;
    return -1;
}

/* Lets go of what the call has failed with. The thread holds Python's lock. */
static void jt_forget_failure(jt_call *call) {
    Py_CLEAR(call->type);
    Py_CLEAR(call->value);
    Py_CLEAR(call->traceback);
}

#endif
