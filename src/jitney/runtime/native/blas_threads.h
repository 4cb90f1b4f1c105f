/* BLAS kept to one thread while a product or a factorization runs.

   OpenBLAS's own threads spin between calls, divide even small work, and on a busy machine wait for
   each other for whole slices of time. How many it has is one number for the whole process, so the
   callers that want one are counted: the first sets it, the last restores it. */

#ifndef JITNEY_BLAS_THREADS_H
#define JITNEY_BLAS_THREADS_H

#include <pthread.h>
#include <stdint.h>

#define JT_MAX_BLAS 4 /* libraries: NumPy's and SciPy's, as a rule */

typedef int (*jt_blas_setter)(int); /* sets the number of threads, returns the one before */

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

static void jt_blas_in_child(void) { /* the other callers' threads are not there any more */
    if (jt_blas.callers > 0)
        for (int k = 0; k < jt_blas.count; k++) jt_blas.set[k](jt_blas.before[k]);
    jt_blas.callers = 0;
    pthread_mutex_unlock(&jt_blas.mutex);
}

/* Makes a library known; those beyond JT_MAX_BLAS keep their threads. */
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
