// Calls that are not shown in Python's tracebacks.
#include <Python.h>

static ternaryfunc jt_fast_call = NULL, jt_repeated_call = NULL;

// A function that is called with an error that leaves a public function, with this function and with
// its arguments; or NULL.
static PyObject *jt_on_error = NULL;

static void jt_set_on_error(PyObject *function) {
    Py_INCREF(function);
    Py_XSETREF(jt_on_error, function);
}

// Removes the entry of the inner call, the first one of the traceback, so that an error in the user's
// function shows only frames of the user.
static PyObject *jt_without_entry(PyObject *out) {
    PyObject *type, *value, *traceback;
    if (out != NULL)
        return out;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL && PyTraceBack_Check(traceback)) {
        PyObject *rest = (PyObject *)((PyTracebackObject *)traceback)->tb_next;
        Py_XINCREF(rest);
        Py_DECREF(traceback);
        traceback = rest;
        PyException_SetTraceback(value, rest == NULL ? Py_None : rest);
    }
    PyErr_Restore(type, value, traceback);
    return NULL;
}

static PyObject *jt_hidden_fast_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    return jt_without_entry(jt_fast_call(self, args, kwargs));
}

// Completes the error that is set. If an error occurs meanwhile, it is ignored.
static void jt_complete_error(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (value != NULL && PyObject_TypeCheck(value, (PyTypeObject *)PyExc_Exception)) {
        PyObject *none = kwargs == NULL ? PyDict_New() : Py_NewRef(kwargs);
        PyObject *done = none == NULL ? NULL
                                      : PyObject_CallFunctionObjArgs(jt_on_error, value, self, args,
                                                                     none, NULL);
        Py_XDECREF(none);
        if (done == NULL)
            PyErr_Clear();
        Py_XDECREF(done);
        Py_XSETREF(traceback, PyException_GetTraceback(value));
    }
    PyErr_Restore(type, value, traceback);
}

static PyObject *jt_hidden_repeated_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *out = jt_without_entry(jt_repeated_call(self, args, kwargs));
    if (out == NULL && jt_on_error != NULL)
        jt_complete_error(self, args, kwargs);
    return out;
}

// Removes calls of instances of `type`, which is `fast` or its subclass `repeated`, from tracebacks.
static void jt_hide_call(PyObject *fast, PyObject *repeated, PyObject *type) {
    if (jt_fast_call == NULL) {
        jt_fast_call = ((PyTypeObject *)fast)->tp_call;
        jt_repeated_call = ((PyTypeObject *)repeated)->tp_call;
    }
    ((PyTypeObject *)type)->tp_call =
        PyType_IsSubtype((PyTypeObject *)type, (PyTypeObject *)repeated) ? jt_hidden_repeated_call
                                                                          : jt_hidden_fast_call;
}
