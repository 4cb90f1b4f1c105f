/* Signals while programs run: Ctrl-C ends an endless loop, an alarm's handler runs.

   Programs call `jt_poll` every so often: at the ends of loops' iterations, between large kernels, and
   between the chunks of one. It looks at the clock, and ten times a second asks Python whether a handler
   is to run. If that raises, the program fails: the exception is this thread's current one until the
   program's caller raises it. Python runs handlers in its main thread alone. */

#ifndef JITNEY_SIGNALS_H
#define JITNEY_SIGNALS_H

#include <Python.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "host.h"

#define JT_LOOK_NANOSECONDS 100000000

static unsigned long jt_main_thread = 0; /* Python's number of it */

/* In workers: whether the loop that they work on is given up. NULL in Python's threads. */
static _Thread_local atomic_int *jt_given_up = NULL;

static int64_t jt_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* JT_SUCCEEDED if the program is to go on. The thread may or may not hold the interpreter's lock: short
   programs keep it, and if one is not short after all, other threads get their turn here. */
static int32_t jt_poll(void) {
    static _Thread_local int64_t last_look = 0;
    int32_t status = JT_SUCCEEDED;
    if (jt_given_up != NULL)
        return atomic_load_explicit(jt_given_up, memory_order_relaxed) ? 0 : JT_SUCCEEDED;
    if (jt_nanoseconds() - last_look < JT_LOOK_NANOSECONDS)
        return JT_SUCCEEDED;
    if (PyThread_get_thread_ident() == jt_main_thread) {
        PyGILState_STATE before = PyGILState_Ensure();
        if (PyErr_CheckSignals() != 0)
            status = 0;
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
