/* Runs functions of `factorize.h` and `sort.h` over batches. */

#ifndef JITNEY_BATCH_H
#define JITNEY_BATCH_H

#include <Python.h>
#include <stdint.h>

#include "blas_threads.h"
#include "call.h"
#include "threads.h"

/* Calls f(call, slots, begin, end) for chunks of `grain` items of a batch of n items. If `alone`,
   LAPACK uses one thread meanwhile. */
static int32_t jt_over_batch(jt_call *call, void *f, void **slots, int64_t n, int64_t grain,
                             int32_t alone) {
    if (alone) jt_blas_enter();
    int32_t status = jt_parallel_for(call, (jt_kernel)f, slots, n, grain);
    if (alone) jt_blas_leave();
    /* A handler of a signal has raised an exception, or there was no memory. */
    if (status != JT_SUCCEEDED) {
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
