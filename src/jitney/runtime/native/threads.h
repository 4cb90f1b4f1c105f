/* A pool of threads that divides a loop: the callers of kernels' `parallel_for`.

   The calling thread works along. Each thread begins with its own share of the loop, the same at every
   loop of one length, so that it finds in its caches what it wrote before; then it takes chunks of what
   is left of others' shares. Which thread computes which chunk does not change results, as kernels
   write disjoint elements. One loop runs at a time: a
   loop started while another runs (from a second Python thread, or from within) is run by its caller
   alone. Workers spin for a little while after a loop, as the next one often follows at once, then
   sleep: to wake one takes tens of microseconds, and on a virtual machine several times that. */

#ifndef JITNEY_THREADS_H
#define JITNEY_THREADS_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "signals.h"

#if defined(__x86_64__) || defined(__i386__)
#define JT_PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define JT_PAUSE() __asm__ __volatile__("yield")
#else
#define JT_PAUSE() ((void)0)
#endif

#define JT_MAX_THREADS 256
#define JT_YIELD_AFTER 4000       /* turns of a wait, after which the processor is offered to others */
#define JT_SPIN_NANOSECONDS 700000 /* that a worker looks out for the next loop before it sleeps */

#define JT_CHUNKS_IN_TURN 32      /* that one thread alone does at a time, between looks for signals */
#define JT_CHUNKS_BETWEEN_LOOKS 8 /* of a thread of several: a chunk is some tens of microseconds */

typedef int32_t (*jt_kernel)(void *, int64_t, int64_t); /* JT_SUCCEEDED, or it was given up */

typedef struct {
    _Alignas(64) atomic_llong next; /* first index that nobody has taken */
    int64_t end;
} jt_share;

static struct {
    atomic_flag owned;        /* set while a loop runs */
    pthread_mutex_t mutex;    /* of `wake`; never held while a kernel runs */
    pthread_cond_t wake;
    atomic_int wanted;
    atomic_int sleeping;      /* workers that have to be woken */
    atomic_uint generation;   /* number of the last loop */
    atomic_int active;        /* threads that work on the loop */
    /* The rest is the owner's to write while nobody is active, and anybody's to read who is. */
    int started;
    jt_kernel kernel;
    void *slots;
    int64_t grain;
    int threads; /* that the loop is divided among */
    atomic_int consumed; /* the loop: a signal's handler has raised */
    jt_share shares[JT_MAX_THREADS];
} jt_pool = {.owned = ATOMIC_FLAG_INIT,
             .mutex = PTHREAD_MUTEX_INITIALIZER,
             .wake = PTHREAD_COND_INITIALIZER,
             .wanted = 1};

static void jt_work(int self) {
    unsigned looked = 0;
    for (int k = 0; k < jt_pool.threads; k++) {
        jt_share *share = &jt_pool.shares[(self + k) % jt_pool.threads];
        for (;;) {
            int64_t begin = atomic_fetch_add(&share->next, jt_pool.grain);
            if (begin >= share->end) break;
            int64_t end = begin + jt_pool.grain;
            if ((looked++ % JT_CHUNKS_BETWEEN_LOOKS == 0 && jt_poll() != JT_SUCCEEDED) ||
                jt_pool.kernel(jt_pool.slots, begin, end < share->end ? end : share->end) !=
                    JT_SUCCEEDED) {
                atomic_store(&jt_pool.consumed, 1);
                return;
            }
        }
    }
}

static void *jt_worker(void *number) {
    int self = (int)(intptr_t)number;
    unsigned seen = 0;
    jt_given_up = &jt_pool.consumed;
    for (;;) {
        int64_t until = jt_nanoseconds() + JT_SPIN_NANOSECONDS;
        unsigned now, spins = 0;
        while ((now = atomic_load(&jt_pool.generation)) == seen) {
            if (++spins % 64 || jt_nanoseconds() < until) {
                JT_PAUSE();
                continue;
            }
            pthread_mutex_lock(&jt_pool.mutex);
            /* Before the last look at the generation: the owner counts a loop, then looks for sleepers. */
            atomic_fetch_add(&jt_pool.sleeping, 1);
            while (atomic_load(&jt_pool.generation) == seen)
                pthread_cond_wait(&jt_pool.wake, &jt_pool.mutex);
            atomic_fetch_sub(&jt_pool.sleeping, 1);
            pthread_mutex_unlock(&jt_pool.mutex);
        }
        seen = now;
        /* A loop that is over already has no chunk left; its data may not be touched, and is not. */
        int entered = atomic_load(&jt_pool.active);
        while (entered > 0 &&
               !atomic_compare_exchange_weak(&jt_pool.active, &entered, entered + 1)) {
        }
        if (entered > 0) {
            jt_work(self);
            atomic_fetch_sub(&jt_pool.active, 1);
        }
    }
    return 0;
}

/* Threads do not survive a fork: the child starts its own at its first loop. A loop that another thread
   runs at that moment goes on in the parent only. No kernel forks, so none is left half done. */
static void jt_before_fork(void) { pthread_mutex_lock(&jt_pool.mutex); }

static void jt_after_fork_in_parent(void) { pthread_mutex_unlock(&jt_pool.mutex); }

static void jt_after_fork_in_child(void) {
    pthread_cond_init(&jt_pool.wake, 0); /* nobody waits for it here */
    jt_pool.started = 0;
    atomic_store(&jt_pool.sleeping, 0);
    atomic_store(&jt_pool.active, 0);
    atomic_flag_clear(&jt_pool.owned);
    pthread_mutex_unlock(&jt_pool.mutex); /* which this thread has locked before the fork */
}

static void jt_start(void) {
    while (jt_pool.started < jt_pool.wanted - 1) {
        pthread_t thread;
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        int failed = pthread_create(&thread, &attributes, jt_worker,
                                    (void *)(intptr_t)(jt_pool.started + 1));
        pthread_attr_destroy(&attributes);
        if (failed) {
            atomic_store(&jt_pool.wanted, jt_pool.started + 1);
            return;
        }
        jt_pool.started++;
    }
}

/* kernel(slots, begin, end) over chunks that make up [0, n), one after another, in order. */
static int32_t jt_in_order(jt_kernel kernel, void *slots, int64_t n, int64_t grain) {
    int64_t step = grain > n / JT_CHUNKS_IN_TURN ? n : grain * JT_CHUNKS_IN_TURN;
    for (int64_t begin = 0; begin < n; begin += step) {
        int64_t end = begin + step;
        if (jt_poll() != JT_SUCCEEDED ||
            kernel(slots, begin, end < n ? end : n) != JT_SUCCEEDED)
            return 0;
    }
    return JT_SUCCEEDED;
}

/* kernel(slots, begin, end) over chunks of `grain` that make up [0, n). */
static int32_t jt_parallel_for(jt_kernel kernel, void *slots, int64_t n, int64_t grain) {
    if (grain >= n || jt_pool.wanted < 2 || atomic_flag_test_and_set(&jt_pool.owned))
        return jt_in_order(kernel, slots, n, grain);
    if (jt_pool.started < jt_pool.wanted - 1) jt_start();
    jt_pool.kernel = kernel;
    jt_pool.slots = slots;
    jt_pool.grain = grain;
    jt_pool.threads = jt_pool.started + 1;
    int64_t chunks = (n + grain - 1) / grain, begin = 0;
    for (int k = 0; k < jt_pool.threads; k++) {
        int64_t end = chunks * (k + 1) / jt_pool.threads * grain;
        atomic_store(&jt_pool.shares[k].next, begin);
        jt_pool.shares[k].end = begin = end < n ? end : n;
    }
    atomic_store(&jt_pool.consumed, 0);
    atomic_store(&jt_pool.active, 1);
    atomic_fetch_add(&jt_pool.generation, 1);
    if (atomic_load(&jt_pool.sleeping)) {
        pthread_mutex_lock(&jt_pool.mutex);
        pthread_cond_broadcast(&jt_pool.wake);
        pthread_mutex_unlock(&jt_pool.mutex);
    }
    jt_work(0);
    atomic_fetch_sub(&jt_pool.active, 1);
    /* On a busy machine the last worker may be waiting for this very processor. */
    for (int spins = 0; atomic_load(&jt_pool.active) > 0;) {
        if (++spins < JT_YIELD_AFTER) {
            JT_PAUSE();
            continue;
        }
        if (!atomic_load(&jt_pool.consumed) && jt_poll() != JT_SUCCEEDED)
            atomic_store(&jt_pool.consumed, 1);
        sched_yield();
    }
    int32_t status = atomic_load(&jt_pool.consumed) ? 0 : JT_SUCCEEDED;
    atomic_flag_clear(&jt_pool.owned);
    return status;
}

static void jt_set_threads(int n) {
    static int registered = 0;
    if (!registered) pthread_atfork(jt_before_fork, jt_after_fork_in_parent, jt_after_fork_in_child);
    registered = 1;
    atomic_store(&jt_pool.wanted, n < 1 ? 1 : n > JT_MAX_THREADS ? JT_MAX_THREADS : n);
}

#endif
