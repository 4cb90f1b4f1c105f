/* Signals while programs run: Ctrl-C ends an endless loop, an alarm's handler runs.

   Programs call `jt_poll` every so often: at the ends of loops' iterations, between large kernels, and
   between the chunks of one. It looks at the clock, and ten times a second asks Python whether a handler
   is to run. If that raises, the call fails with it. Python runs handlers in its main thread alone. */

#ifndef JITNEY_SIGNALS_H
#define JITNEY_SIGNALS_H

#include <Python.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "call.h"

#define JT_LOOK_NANOSECONDS 100000000

static unsigned long jt_main_thread = 0; /* Python's identifier of the main thread */

/* Whether this is a thread of a pool or of a queue, which Python has not created. */
static _Thread_local int jt_is_worker = 0;

static int64_t jt_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Returns JT_SUCCEEDED if the call should continue. The thread may or may not hold the interpreter's
   lock: short programs keep it, and if one takes longer than expected, it releases the lock for other
   threads here. */
static int32_t jt_poll(jt_call *call) {
    static _Thread_local int64_t last_look = 0;
    int32_t status = JT_SUCCEEDED;
    if (atomic_load_explicit(&call->stopped, memory_order_relaxed))
        return 0;
    if (jt_is_worker)
        return JT_SUCCEEDED;
    call->polls++;
    if (jt_nanoseconds() - last_look < JT_LOOK_NANOSECONDS)
        return JT_SUCCEEDED;
    if (PyThread_get_thread_ident() == jt_main_thread) {
        PyGILState_STATE before = PyGILState_Ensure();
        if (PyErr_CheckSignals() != 0) {
            jt_fail(call);
            call->interrupted = 1;
            status = 0;
        }
        PyGILState_Release(before);
    }
    if (status == JT_SUCCEEDED && PyGILState_Check()) {
        PyThreadState *thread = PyEval_SaveThread();
        PyEval_RestoreThread(thread);
    }
    last_look = jt_nanoseconds();
    return status;
}

#endif
