/* Limits BLAS to one thread while a product or a factorization runs.

   OpenBLAS's own threads spin between calls, divide even small work, and on a busy machine wait for
   each other for whole slices of time. The number of its threads is a setting of the whole process,
   so the callers that need one thread are counted: the first one sets the number to 1, and the last
   one restores it. */

#ifndef JITNEY_BLAS_THREADS_H
#define JITNEY_BLAS_THREADS_H

#include <pthread.h>
#include <stdint.h>

#define JT_MAX_BLAS 4 /* the number of libraries, usually NumPy's and SciPy's */

typedef int (*jt_blas_setter)(int); /* sets the number of threads and returns the previous one */

static struct {
    pthread_mutex_t mutex;
    int callers, count, registered;
    jt_blas_setter set[JT_MAX_BLAS];
    int before[JT_MAX_BLAS];
} jt_blas = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void jt_blas_enter(void) {
    pthread_mutex_lock(&jt_blas.mutex);
    if (jt_blas.callers++ == 0)
        for (int k = 0; k < jt_blas.count; k++) jt_blas.before[k] = jt_blas.set[k](1);
    pthread_mutex_unlock(&jt_blas.mutex);
}

static void jt_blas_leave(void) {
    pthread_mutex_lock(&jt_blas.mutex);
    if (--jt_blas.callers == 0)
        for (int k = 0; k < jt_blas.count; k++) jt_blas.set[k](jt_blas.before[k]);
    pthread_mutex_unlock(&jt_blas.mutex);
}

static void jt_blas_before_fork(void) { pthread_mutex_lock(&jt_blas.mutex); }

static void jt_blas_in_parent(void) { pthread_mutex_unlock(&jt_blas.mutex); }

static void jt_blas_in_child(void) { /* The threads of the other callers do not exist in the child. */
    if (jt_blas.callers > 0)
        for (int k = 0; k < jt_blas.count; k++) jt_blas.set[k](jt_blas.before[k]);
    jt_blas.callers = 0;
    pthread_mutex_unlock(&jt_blas.mutex);
}

/* Registers a library. Libraries beyond JT_MAX_BLAS keep their threads. */
static void jt_blas_add(jt_blas_setter set) {
    pthread_mutex_lock(&jt_blas.mutex);
    if (jt_blas.count < JT_MAX_BLAS) {
        int k = jt_blas.count++;
        jt_blas.set[k] = set;
        if (jt_blas.callers > 0) jt_blas.before[k] = set(1);
    }
    if (!jt_blas.registered) {
        pthread_atfork(jt_blas_before_fork, jt_blas_in_parent, jt_blas_in_child);
        jt_blas.registered = 1;
    }
    pthread_mutex_unlock(&jt_blas.mutex);
}

#endif
