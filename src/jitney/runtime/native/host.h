/* Python functions that compiled programs, and the threads of a pool, call. */

#ifndef JITNEY_HOST_H
#define JITNEY_HOST_H

#include <Python.h>
#include <stdint.h>

#include "call.h"

static PyObject *jt_host_function = NULL;

static void jt_set_host_function(PyObject *function) {
    Py_INCREF(function);
    Py_XSETREF(jt_host_function, function);
}

/* Calls Python function `number` on the data whose addresses are at `slots`; the thread may or may not
   hold the lock of the interpreter. */
static int32_t jt_call_host(jt_call *call, int64_t number, void **slots) {
    PyGILState_STATE before = PyGILState_Ensure();
    PyObject *result = PyObject_CallFunction(jt_host_function, "LK", (long long)number,
                                             (unsigned long long)(uintptr_t)slots);
    int32_t status = result != NULL ? JT_SUCCEEDED : 0;
    if (result == NULL) jt_fail(call);
    Py_XDECREF(result);
    PyGILState_Release(before);
    return status;
}

/* A kernel whose slots are a Python function of (begin, end). */
static int32_t jt_call_body(jt_call *call, void *body, int64_t begin, int64_t end) {
    PyGILState_STATE before = PyGILState_Ensure();
    PyObject *result = NULL;
    /* The part of another thread may have raised an exception meanwhile. */
    if (!atomic_load(&call->stopped)) {
        result = PyObject_CallFunction((PyObject *)body, "LL", (long long)begin, (long long)end);
        if (result == NULL) jt_fail(call);
    }
    int32_t status = result != NULL ? JT_SUCCEEDED : 0;
    Py_XDECREF(result);
    PyGILState_Release(before);
    return status;
}

#endif
