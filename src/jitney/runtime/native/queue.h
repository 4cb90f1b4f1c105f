/* Queues of calls that run later: one task at a time, in the order in which they were pushed.

   A task is run by the queue's thread, or by a thread that waits for it or for a later one, whichever
   is there first: to wait at once for what was just pushed costs no change of threads. The queue's
   thread never holds Python's lock. */

#ifndef JITNEY_QUEUE_H
#define JITNEY_QUEUE_H

#include <Python.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "signals.h"

enum { JT_QUEUED = 0, JT_DONE = 1 };

/* The time for which the thread of a queue, once woken, waits before it runs a task: if the thread that
   has pushed the task waits for it at once, it runs the task itself, without a change of threads. */
#define JT_HEAD_START_NANOSECONDS 50000

typedef struct jt_task {
    struct jt_task *next;
    int (*run)(struct jt_task *); /* returns whether the task succeeded */
    struct jt_task **needs;       /* the tasks whose results it reads, which were pushed before it */
    int n_needs;
    int failed;       /* whether it, or a task that it needs, has failed */
    atomic_int state; /* once it is JT_DONE, no other thread touches the task */
} jt_task;

typedef struct jt_queue {
    pthread_mutex_t mutex; /* protects the following fields; not held while a task runs */
    pthread_cond_t pushed; /* the thread of the queue waits for it */
    pthread_cond_t done;   /* other threads wait for it */
    jt_task *first, *last; /* tasks that have not begun */
    jt_task *current;      /* the task that runs, or NULL */
    pthread_t runner;      /* the thread that runs it */
    pthread_t thread;
    int started, sleeping, waiting, closing;
    struct jt_queue *next; /* the next one in the list of all queues */
} jt_queue;

/* The list of all queues, which is needed after a fork. The mutex also protects `jt_on_idle`. */
static struct {
    pthread_mutex_t mutex;
    int registered;
    jt_queue *first;
} jt_queues = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Called by Python's main thread when it can, after the thread of a queue has run the last task. */
static int (*jt_on_idle)(void *) = NULL;
static atomic_int jt_is_idle_noted = 0;

static void jt_note_idle(void) {
    pthread_mutex_lock(&jt_queues.mutex);
    if (jt_on_idle != NULL && !atomic_exchange(&jt_is_idle_noted, 1) &&
        Py_AddPendingCall(jt_on_idle, NULL) != 0)
        atomic_store(&jt_is_idle_noted, 0);
    pthread_mutex_unlock(&jt_queues.mutex);
}

/* Runs the first task of a queue that runs none. The mutex is held before and after, but not while the
   task runs. */
static void jt_queue_run_first(jt_queue *queue) {
    jt_task *task = queue->first;
    int failed = 0;
    queue->first = task->next;
    if (queue->first == NULL) queue->last = NULL;
    queue->current = task;
    queue->runner = pthread_self();
    pthread_mutex_unlock(&queue->mutex);
    for (int k = 0; k < task->n_needs; k++) failed |= task->needs[k]->failed;
    if (!failed) failed = !task->run(task);
    pthread_mutex_lock(&queue->mutex);
    task->failed = failed;
    queue->current = NULL;
    atomic_store(&task->state, JT_DONE);
    if (queue->waiting) pthread_cond_broadcast(&queue->done);
    if (queue->sleeping && queue->first != NULL) pthread_cond_signal(&queue->pushed);
}

static void *jt_run_queue(void *data) {
    jt_queue *queue = data;
    jt_is_worker = 1;
    pthread_mutex_lock(&queue->mutex);
    for (;;) {
        while (!queue->closing && (queue->first == NULL || queue->current != NULL)) {
            struct timespec head_start = {0, JT_HEAD_START_NANOSECONDS};
            queue->sleeping = 1;
            pthread_cond_wait(&queue->pushed, &queue->mutex);
            queue->sleeping = 0;
            pthread_mutex_unlock(&queue->mutex);
            nanosleep(&head_start, NULL);
            pthread_mutex_lock(&queue->mutex);
        }
        if (queue->closing) break;
        jt_queue_run_first(queue);
        if (queue->first == NULL) {
            pthread_mutex_unlock(&queue->mutex);
            jt_note_idle();
            pthread_mutex_lock(&queue->mutex);
        }
    }
    pthread_mutex_unlock(&queue->mutex);
    return NULL;
}

/* Threads do not survive a fork. In the child, tasks that were not done have failed. */
static void jt_queues_before_fork(void) {
    pthread_mutex_lock(&jt_queues.mutex);
    for (jt_queue *queue = jt_queues.first; queue != NULL; queue = queue->next)
        pthread_mutex_lock(&queue->mutex);
}

static void jt_queues_in_parent(void) {
    for (jt_queue *queue = jt_queues.first; queue != NULL; queue = queue->next)
        pthread_mutex_unlock(&queue->mutex);
    pthread_mutex_unlock(&jt_queues.mutex);
}

static void jt_queues_in_child(void) {
    for (jt_queue *queue = jt_queues.first; queue != NULL; queue = queue->next) {
        pthread_cond_init(&queue->pushed, 0);
        pthread_cond_init(&queue->done, 0);
        queue->started = queue->sleeping = queue->waiting = 0;
        /* A handler of a signal may fork within a task, which then continues in the child. */
        if (queue->current != NULL && !pthread_equal(queue->runner, pthread_self())) {
            queue->current->failed = 1;
            atomic_store(&queue->current->state, JT_DONE);
            queue->current = NULL;
        }
        for (jt_task *task = queue->first; task != NULL; task = task->next) {
            task->failed = 1;
            atomic_store(&task->state, JT_DONE);
        }
        queue->first = queue->last = NULL;
        pthread_mutex_unlock(&queue->mutex);
    }
    pthread_mutex_unlock(&jt_queues.mutex);
}

/* Returns a queue without tasks, whose thread is started with the first task, or NULL if there is no
   memory. */
static jt_queue *jt_queue_new(void) {
    jt_queue *queue = calloc(1, sizeof(jt_queue));
    if (queue == NULL) return NULL;
    pthread_mutex_init(&queue->mutex, 0);
    pthread_cond_init(&queue->pushed, 0);
    pthread_cond_init(&queue->done, 0);
    pthread_mutex_lock(&jt_queues.mutex);
    if (!jt_queues.registered)
        pthread_atfork(jt_queues_before_fork, jt_queues_in_parent, jt_queues_in_child);
    jt_queues.registered = 1;
    queue->next = jt_queues.first;
    jt_queues.first = queue;
    pthread_mutex_unlock(&jt_queues.mutex);
    return queue;
}

/* Ends the thread of a queue without tasks, and frees the queue. */
static void jt_queue_free(jt_queue *queue) {
    pthread_mutex_lock(&jt_queues.mutex);
    jt_queue **link = &jt_queues.first;
    while (*link != queue) link = &(*link)->next;
    *link = queue->next;
    pthread_mutex_unlock(&jt_queues.mutex);
    pthread_mutex_lock(&queue->mutex);
    queue->closing = 1;
    pthread_cond_signal(&queue->pushed);
    pthread_mutex_unlock(&queue->mutex);
    if (queue->started) pthread_join(queue->thread, NULL);
    pthread_cond_destroy(&queue->pushed);
    pthread_cond_destroy(&queue->done);
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}

/* Adds a task, which runs after those that were pushed before. */
static void jt_queue_push(jt_queue *queue, jt_task *task) {
    task->next = NULL;
    task->failed = 0;
    atomic_init(&task->state, JT_QUEUED);
    pthread_mutex_lock(&queue->mutex);
    if (queue->last != NULL)
        queue->last->next = task;
    else
        queue->first = task;
    queue->last = task;
    /* If the thread cannot be started, threads that wait for tasks run them. */
    if (!queue->started)
        queue->started = pthread_create(&queue->thread, NULL, jt_run_queue, queue) == 0;
    else if (queue->sleeping)
        pthread_cond_signal(&queue->pushed);
    pthread_mutex_unlock(&queue->mutex);
}

/* NULL from the end of the interpreter on, as the thread of a queue may be about to call it. */
static void jt_set_on_idle(int (*function)(void *)) {
    pthread_mutex_lock(&jt_queues.mutex);
    jt_on_idle = function;
    pthread_mutex_unlock(&jt_queues.mutex);
}

static void jt_unnote_idle(void) { atomic_store(&jt_is_idle_noted, 0); }

static int jt_is_done(jt_task *task) { return atomic_load(&task->state) == JT_DONE; }

/* Returns whether this thread is running a task of the queue, so that it cannot wait for the task. */
static int jt_queue_runs_here(jt_queue *queue) {
    pthread_mutex_lock(&queue->mutex);
    int runs = queue->current != NULL && pthread_equal(queue->runner, pthread_self());
    pthread_mutex_unlock(&queue->mutex);
    return runs;
}

/* Runs the first task of the queue, or waits until another thread has run one, for at most a tenth of a
   second, so that the caller can check for signals in between. Returns whether `task` is done. */
static int jt_queue_wait(jt_queue *queue, jt_task *task) {
    if (jt_is_done(task)) return 1;
    pthread_mutex_lock(&queue->mutex);
    if (!jt_is_done(task)) {
        if (queue->current == NULL && queue->first != NULL) {
            jt_queue_run_first(queue);
        } else {
            struct timespec until;
            clock_gettime(CLOCK_REALTIME, &until);
            until.tv_nsec += JT_LOOK_NANOSECONDS;
            until.tv_sec += until.tv_nsec / 1000000000;
            until.tv_nsec %= 1000000000;
            queue->waiting++;
            pthread_cond_timedwait(&queue->done, &queue->mutex, &until);
            queue->waiting--;
        }
    }
    int done = jt_is_done(task);
    pthread_mutex_unlock(&queue->mutex);
    return done;
}

#endif
