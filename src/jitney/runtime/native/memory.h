// Memory for arrays that begins where lines of the cache do: vectors of 64 bytes lie in one line.
//
// NumPy's own begins 16 bytes after such a place as a rule, and a loop over it loads each vector from
// two lines.
#include <Python.h>
#include <numpy/arrayobject.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#define JT_LINE 64
#define JT_HUGE (1u << 22)  // bytes from which on large pages pay

static void *jt_allocate(void *context, size_t size) {
    void *memory = NULL;
    if (posix_memalign(&memory, JT_LINE, size ? size : 1))
        return NULL;
#ifdef MADV_HUGEPAGE
    if (size >= JT_HUGE) {
        size_t page = 4096, skipped = (page - (size_t)memory % page) % page;
        madvise((char *)memory + skipped, size - skipped, MADV_HUGEPAGE);
    }
#endif
    return memory;
}

static void *jt_allocate_zeros(void *context, size_t count, size_t size) {
    if (size && count > SIZE_MAX / size)
        return NULL;
    void *memory = jt_allocate(context, count * size);
    return memory ? memset(memory, 0, count * size) : NULL;
}

static void *jt_resize(void *context, void *memory, size_t size) {
    return realloc(memory, size ? size : 1);
}

static void jt_release(void *context, void *memory, size_t size) { free(memory); }

static PyDataMem_Handler jt_memory = {
    "jitney", 1, {NULL, jt_allocate, jt_allocate_zeros, jt_resize, jt_release}};

// A new array without contents, of `nbytes`, which frees its memory by the functions above. Takes a
// reference to `dtype`. To set the handler for a moment, as NumPy's interface has it, takes longer than
// a short call of a compiled function.
static PyObject *jt_new_array(int rank, npy_intp *extents, PyArray_Descr *dtype, size_t nbytes) {
    static PyObject *handler = NULL;
    if (handler == NULL && (handler = PyCapsule_New(&jt_memory, "mem_handler", NULL)) == NULL)
        return NULL;
    void *memory = jt_allocate(NULL, nbytes);
    if (memory == NULL)
        return PyErr_NoMemory();
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, dtype, rank, extents, NULL, memory,
                                           NPY_ARRAY_CARRAY, NULL);
    if (array == NULL) {
        free(memory);
        return NULL;
    }
    Py_INCREF(handler);
    ((PyArrayObject_fields *)array)->mem_handler = handler;
    PyArray_ENABLEFLAGS((PyArrayObject *)array, NPY_ARRAY_OWNDATA);
    return array;
}
