/* Functions of `factorize.h` and `sort.h` over batches. */

#ifndef JITNEY_BATCH_H
#define JITNEY_BATCH_H

#include <Python.h>
#include <stdint.h>

#include "blas_threads.h"
#include "call.h"
#include "threads.h"

/* f(call, slots, begin, end) over a batch of n in chunks of `grain`, LAPACK kept to one thread if
   `alone`. */
static int32_t jt_over_batch(jt_call *call, void *f, void **slots, int64_t n, int64_t grain,
                             int32_t alone) {
    if (alone) jt_blas_enter();
    int32_t status = jt_parallel_for(call, (jt_kernel)f, slots, n, grain);
    if (alone) jt_blas_leave();
    if (status != JT_SUCCEEDED) { /* a handler of a signal has raised, or there was no memory */
        PyGILState_STATE before = PyGILState_Ensure();
        if (call->type == NULL) {
            PyErr_NoMemory();
            jt_fail(call);
        }
        PyGILState_Release(before);
    }
    return status;
}

#endif
