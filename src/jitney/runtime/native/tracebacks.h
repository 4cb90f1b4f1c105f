// Calls that leave no trace of themselves in Python's tracebacks.
#include <Python.h>

static ternaryfunc jt_inner_call = NULL;

// The inner call's own entry is the first of the traceback: an error of the user's function is to
// show the user's frames.
static PyObject *jt_hidden_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *type, *value, *traceback;
    PyObject *out = jt_inner_call(self, args, kwargs);
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

// Makes calls of instances of `type`, whose call is that of `base`, leave no entry.
static void jt_hide_call(PyObject *base, PyObject *type) {
    if (jt_inner_call == NULL)
        jt_inner_call = ((PyTypeObject *)base)->tp_call;
    ((PyTypeObject *)type)->tp_call = jt_hidden_call;
}
