/* Pools of threads that divide a loop: the callers of kernels' `parallel_for`. A device has one.

   The calling thread works along. Each thread begins with its own share of the loop, the same at every
   loop of one length, so that it finds in its caches what it wrote before; then it takes chunks of what
   is left of others' shares. Which thread computes which chunk does not change results, as kernels
   write disjoint elements. A pool runs one loop at a time: a loop started while another runs (from a
   second Python thread, or from within) is run by its caller alone. Workers spin for a little while
   after a loop, as the next one often follows at once, then sleep: to wake one takes tens of
   microseconds, and on a virtual machine several times that. */

#ifndef JITNEY_THREADS_H
#define JITNEY_THREADS_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "pool.h"
#include "signals.h"

#if defined(__x86_64__) || defined(__i386__)
#define JT_PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define JT_PAUSE() __asm__ __volatile__("yield")
#else
#define JT_PAUSE() ((void)0)
#endif

#define JT_YIELD_AFTER 4000       /* iterations of a wait after which the thread yields the processor */
/* the time for which a worker waits for the next loop before it sleeps */
#define JT_SPIN_NANOSECONDS 700000

#define JT_CHUNKS_IN_TURN 32      /* chunks that a single thread runs between checks for signals */
/* the same for one of several threads; a chunk takes some tens of microseconds */
#define JT_CHUNKS_BETWEEN_LOOKS 8

/* The list of all pools, which is needed after a fork. */
static struct {
    pthread_mutex_t mutex;
    int registered;
    jt_pool *first;
} jt_pools = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void jt_work(jt_pool *pool, int self) {
    unsigned looked = 0;
    jt_call *call = pool->call;
    for (int k = 0; k < pool->threads; k++) {
        jt_share *share = &pool->shares[(self + k) % pool->threads];
        for (;;) {
            int64_t begin = atomic_fetch_add(&share->next, pool->grain);
            if (begin >= share->end) break;
            int64_t end = begin + pool->grain;
            if ((looked++ % JT_CHUNKS_BETWEEN_LOOKS == 0 && jt_poll(call) != JT_SUCCEEDED) ||
                pool->kernel(call, pool->slots, begin, end < share->end ? end : share->end) !=
                    JT_SUCCEEDED) {
                atomic_store(&call->stopped, 1);
                return;
            }
        }
    }
}

static void *jt_run_worker(void *data) {
    jt_worker *self = data;
    jt_pool *pool = self->pool;
    unsigned seen = 0;
    jt_is_worker = 1;
    for (;;) {
        int64_t until = jt_nanoseconds() + JT_SPIN_NANOSECONDS;
        unsigned now, spins = 0;
        while ((now = atomic_load(&pool->generation)) == seen) {
            if (++spins % 64 || jt_nanoseconds() < until) {
                JT_PAUSE();
                continue;
            }
            pthread_mutex_lock(&pool->mutex);
            /* This precedes the last check of the generation, as the owner first counts a loop and then
               checks for sleeping workers. */
            atomic_fetch_add(&pool->sleeping, 1);
            while (atomic_load(&pool->generation) == seen)
                pthread_cond_wait(&pool->wake, &pool->mutex);
            atomic_fetch_sub(&pool->sleeping, 1);
            pthread_mutex_unlock(&pool->mutex);
        }
        seen = now;
        if (atomic_load(&pool->closing)) return NULL;
        /* A loop that has ended already has no chunks left, so its data, which may not exist any more,
           is not accessed. */
        int entered = atomic_load(&pool->active);
        while (entered > 0 &&
               !atomic_compare_exchange_weak(&pool->active, &entered, entered + 1)) {
        }
        if (entered > 0) {
            jt_work(pool, self->number);
            atomic_fetch_sub(&pool->active, 1);
        }
    }
}

static void jt_announce(jt_pool *pool) {
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->sleeping)) {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->mutex);
    }
}

/* Threads do not survive a fork: the child starts its own at its first loop. A loop that another thread
   runs at that moment goes on in the parent only. No kernel forks, so none is left half done. */
static void jt_before_fork(void) {
    pthread_mutex_lock(&jt_pools.mutex);
    for (jt_pool *pool = jt_pools.first; pool != NULL; pool = pool->next)
        pthread_mutex_lock(&pool->mutex);
}

static void jt_after_fork_in_parent(void) {
    for (jt_pool *pool = jt_pools.first; pool != NULL; pool = pool->next)
        pthread_mutex_unlock(&pool->mutex);
    pthread_mutex_unlock(&jt_pools.mutex);
}

static void jt_after_fork_in_child(void) {
    for (jt_pool *pool = jt_pools.first; pool != NULL; pool = pool->next) {
        pthread_cond_init(&pool->wake, 0); /* No thread of the child waits for it. */
        pool->started = 0;
        atomic_store(&pool->sleeping, 0);
        atomic_store(&pool->active, 0);
        atomic_flag_clear(&pool->owned);
        pthread_mutex_unlock(&pool->mutex); /* This thread locked it before the fork. */
    }
    pthread_mutex_unlock(&jt_pools.mutex);
}

/* Returns a pool of n threads, including the caller of a loop, or NULL if there is no memory. Threads
   are started when they are first needed. */
static jt_pool *jt_pool_new(int n) {
    void *memory = NULL;
    if (posix_memalign(&memory, _Alignof(jt_pool), sizeof(jt_pool))) return NULL;
    jt_pool *pool = memory;
    atomic_flag_clear(&pool->owned);
    pthread_mutex_init(&pool->mutex, 0);
    pthread_cond_init(&pool->wake, 0);
    atomic_init(&pool->wanted, n < 1 ? 1 : n > JT_MAX_THREADS ? JT_MAX_THREADS : n);
    atomic_init(&pool->sleeping, 0);
    atomic_init(&pool->generation, 0);
    atomic_init(&pool->active, 0);
    atomic_init(&pool->closing, 0);
    pool->started = 0;
    pthread_mutex_lock(&jt_pools.mutex);
    if (!jt_pools.registered)
        pthread_atfork(jt_before_fork, jt_after_fork_in_parent, jt_after_fork_in_child);
    jt_pools.registered = 1;
    pool->next = jt_pools.first;
    jt_pools.first = pool;
    pthread_mutex_unlock(&jt_pools.mutex);
    return pool;
}

/* Ends the threads of a pool that runs no loop and will run none, and frees it. */
static void jt_pool_free(jt_pool *pool) {
    pthread_mutex_lock(&jt_pools.mutex);
    jt_pool **link = &jt_pools.first;
    while (*link != pool) link = &(*link)->next;
    *link = pool->next;
    pthread_mutex_unlock(&jt_pools.mutex);
    atomic_store(&pool->closing, 1);
    jt_announce(pool);
    for (int k = 0; k < pool->started; k++) pthread_join(pool->workers[k].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

static void jt_pool_start(jt_pool *pool) {
    while (pool->started < atomic_load(&pool->wanted) - 1) {
        jt_worker *worker = &pool->workers[pool->started];
        worker->pool = pool;
        worker->number = pool->started + 1;
        if (pthread_create(&worker->thread, NULL, jt_run_worker, worker)) {
            atomic_store(&pool->wanted, pool->started + 1);
            return;
        }
        pool->started++;
    }
}

/* Calls kernel(call, slots, begin, end) for consecutive chunks of [0, n), in order. */
static int32_t jt_in_order(jt_call *call, jt_kernel kernel, void *slots, int64_t n, int64_t grain) {
    int64_t step = grain > n / JT_CHUNKS_IN_TURN ? n : grain * JT_CHUNKS_IN_TURN;
    for (int64_t begin = 0; begin < n; begin += step) {
        int64_t end = begin + step;
        if (jt_poll(call) != JT_SUCCEEDED ||
            kernel(call, slots, begin, end < n ? end : n) != JT_SUCCEEDED)
            return 0;
    }
    return JT_SUCCEEDED;
}

/* Calls kernel(call, slots, begin, end) for chunks of `grain` indices of [0, n), divided among the
   threads. */
static int32_t jt_parallel_for(jt_call *call, jt_kernel kernel, void *slots, int64_t n,
                               int64_t grain) {
    jt_pool *pool = call->pool;
    if (grain >= n || pool->wanted < 2 || atomic_flag_test_and_set(&pool->owned))
        return jt_in_order(call, kernel, slots, n, grain);
    if (pool->started < pool->wanted - 1) jt_pool_start(pool);
    pool->call = call;
    pool->kernel = kernel;
    pool->slots = slots;
    pool->grain = grain;
    pool->threads = pool->started + 1;
    int64_t chunks = (n + grain - 1) / grain, begin = 0;
    for (int k = 0; k < pool->threads; k++) {
        int64_t end = chunks * (k + 1) / pool->threads * grain;
        atomic_store(&pool->shares[k].next, begin);
        pool->shares[k].end = begin = end < n ? end : n;
    }
    atomic_store(&pool->active, 1);
    jt_announce(pool);
    jt_work(pool, 0);
    atomic_fetch_sub(&pool->active, 1);
    /* On a busy machine the last worker may be waiting for this very processor. */
    for (int spins = 0; atomic_load(&pool->active) > 0;) {
        if (++spins < JT_YIELD_AFTER) {
            JT_PAUSE();
            continue;
        }
        jt_poll(call); /* stops the workers if a handler of a signal raises an exception */
        sched_yield();
    }
    int32_t status = atomic_load(&call->stopped) ? 0 : JT_SUCCEEDED;
    atomic_flag_clear(&pool->owned);
    return status;
}

#endif
