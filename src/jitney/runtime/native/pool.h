/* The data of a pool of threads; its functions are in `threads.h`. Kernels of other modules use this
   definition, too. */

#ifndef JITNEY_POOL_H
#define JITNEY_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "call.h"

#define JT_MAX_THREADS 256 /* the most threads of a pool */

/* The type of kernel(call, slots, begin, end), which returns JT_SUCCEEDED unless it was interrupted. */
typedef int32_t (*jt_kernel)(jt_call *, void *, int64_t, int64_t);

typedef struct {
    _Alignas(64) atomic_llong next; /* the first index that no thread has taken */
    int64_t end;
} jt_share;

typedef struct {
    struct jt_pool *pool;
    int number; /* from 1 on, as the caller of a loop is thread 0 */
    pthread_t thread;
} jt_worker;

typedef struct jt_pool {
    atomic_flag owned;        /* set while a loop runs */
    pthread_mutex_t mutex;    /* protects `wake`; never held while a kernel runs */
    pthread_cond_t wake;
    atomic_int wanted;        /* the number of threads, including the caller of a loop */
    atomic_int sleeping;      /* the number of sleeping workers */
    atomic_uint generation;   /* the number of the last loop */
    atomic_int active;        /* the number of threads that work on the loop */
    atomic_int closing;       /* set when workers must end */
    /* The owner writes the following fields while no thread is active; active threads read them. */
    int started; /* the number of workers */
    jt_call *call; /* the call to which the loop belongs */
    jt_kernel kernel;
    void *slots;
    int64_t grain;
    int threads; /* the number of threads that share the loop */
    jt_worker workers[JT_MAX_THREADS];
    jt_share shares[JT_MAX_THREADS];
    struct jt_pool *next; /* the next one in the list of all pools */
} jt_pool;

#endif
