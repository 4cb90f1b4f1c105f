/* What a pool of threads is; `threads.h` has what it does. Kernels of other modules see a pool so, too. */

#ifndef JITNEY_POOL_H
#define JITNEY_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "call.h"

#define JT_MAX_THREADS 256 /* of a pool */

/* kernel(call, slots, begin, end): JT_SUCCEEDED, or it was given up */
typedef int32_t (*jt_kernel)(jt_call *, void *, int64_t, int64_t);

typedef struct {
    _Alignas(64) atomic_llong next; /* first index that no thread has taken */
    int64_t end;
} jt_share;

typedef struct {
    struct jt_pool *pool;
    int number; /* from 1: the caller of a loop is 0 */
    pthread_t thread;
} jt_worker;

typedef struct jt_pool {
    atomic_flag owned;        /* set while a loop runs */
    pthread_mutex_t mutex;    /* of `wake`; never held while a kernel runs */
    pthread_cond_t wake;
    atomic_int wanted;        /* threads, the caller of a loop included */
    atomic_int sleeping;      /* workers that have to be woken */
    atomic_uint generation;   /* number of the last loop */
    atomic_int active;        /* threads that work on the loop */
    atomic_int closing;       /* workers are to end */
    /* The owner writes the rest while no thread is active; active threads read it. */
    int started; /* workers */
    jt_call *call; /* that the loop belongs to */
    jt_kernel kernel;
    void *slots;
    int64_t grain;
    int threads; /* that the loop is divided among */
    jt_worker workers[JT_MAX_THREADS];
    jt_share shares[JT_MAX_THREADS];
    struct jt_pool *next; /* of all pools */
} jt_pool;

#endif
