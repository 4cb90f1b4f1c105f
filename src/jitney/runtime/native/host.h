/* Python functions that compiled programs call. */

#ifndef JITNEY_HOST_H
#define JITNEY_HOST_H

#include <Python.h>
#include <stdint.h>

/* What entries of programs, and the functions that they call, return if all went well. All else is a
   failure, whose exception is the thread's current one. */
enum { JT_SUCCEEDED = 1 };

static PyObject *jt_host_function = NULL;

static void jt_set_host_function(PyObject *function) {
    Py_INCREF(function);
    Py_XSETREF(jt_host_function, function);
}

/* Calls Python function `number` on the data whose addresses are at `slots`; the thread may or may not
   hold the lock of the interpreter. */
static int32_t jt_call_host(int64_t number, void **slots) {
    PyGILState_STATE before = PyGILState_Ensure();
    PyObject *result = PyObject_CallFunction(jt_host_function, "LK", (long long)number,
                                             (unsigned long long)(uintptr_t)slots);
    int32_t status = result != NULL ? JT_SUCCEEDED : 0;
    Py_XDECREF(result);
    PyGILState_Release(before);
    return status;
}

#endif
