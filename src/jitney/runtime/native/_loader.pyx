# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=False
"""Machine code from object files: `objects.h` does the work."""

from libc.stdint cimport uint64_t, uintptr_t

cdef extern from "objects.h":
    ctypedef struct jt_image:
        void *memory
        size_t size
    ctypedef uint64_t (*jt_resolver)(void *context, const char *name) noexcept
    ctypedef void (*jt_definer)(void *context, const char *name, uint64_t address) noexcept
    const char *jt_load(const void *data, size_t size, void *context, jt_resolver resolve,
                        jt_definer define, jt_image *image)
    void jt_unload(jt_image *image)
    int jt_can_load()

cdef extern from "<dlfcn.h>" nogil:
    void *dlsym(void *handle, const char *name)
    void *RTLD_DEFAULT


cdef uint64_t _resolve(void *context, const char *name) noexcept:
    """Returns the address of the symbol `name`, defined by the image's `known` or by the process."""
    cdef CodeImage image = <CodeImage>context
    try:
        found = image.known.get((<bytes>name).decode())
        if found is None:
            return <uint64_t><uintptr_t>dlsym(RTLD_DEFAULT, name)
        return found
    except Exception:
        return 0


cdef void _define(void *context, const char *name, uint64_t address) noexcept:
    cdef CodeImage image = <CodeImage>context
    try:
        image.functions[(<bytes>name).decode()] = address
    except Exception:
        pass


cdef class CodeImage:
    """An LLVM object file in memory, ready to run; its pages are freed with this object.

    Attributes:
      functions: the addresses of the functions that it defines.
      size: its size in memory, in bytes.

    Raises:
      ValueError: if `data` is damaged, is for another machine, or needs a symbol that neither `known`
        nor the process has.
    """

    cdef jt_image image
    cdef object known
    cdef readonly dict functions

    def __cinit__(self, bytes data, known):
        self.known = known
        self.functions = {}
        cdef const char *problem = jt_load(
            <const char *>data, len(data), <void *>self, _resolve, _define, &self.image)
        self.known = None
        if problem != NULL:
            raise ValueError(f"cannot load machine code: {problem.decode()}")

    @property
    def size(self):
        return self.image.size

    def __dealloc__(self):
        jt_unload(&self.image)


def can_load_code():
    """Returns whether `CodeImage` is supported on this system."""
    return bool(jt_can_load())
