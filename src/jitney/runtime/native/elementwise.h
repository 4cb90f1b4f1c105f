/* NumPy's loops over large arrays, divided among the runtime's threads: one at a time leaves most of
   the machine, and of the bandwidth of its memory, idle. */

#ifndef JITNEY_ELEMENTWISE_H
#define JITNEY_ELEMENTWISE_H

#include <stdint.h>

#include "threads.h"

#define JT_MAX_OPERANDS 4
#define JT_ELEMENTWISE_CHUNK (1 << 15) /* whole vectors: what is left over is the last chunk's */

typedef void (*jt_loop)(char **, const intptr_t *, const intptr_t *, void *);

typedef struct {
    jt_loop loop;
    void *data;
    int count;                       /* operands, the result last */
    char *operands[JT_MAX_OPERANDS];
    intptr_t steps[JT_MAX_OPERANDS]; /* bytes between elements: 0 repeats one */
} jt_elementwise;

static void jt_elementwise_part(void *slots, int64_t begin, int64_t end) {
    const jt_elementwise *e = (const jt_elementwise *)slots;
    char *at[JT_MAX_OPERANDS];
    intptr_t n = end - begin;
    for (int k = 0; k < e->count; k++) at[k] = e->operands[k] + begin * e->steps[k];
    e->loop(at, &n, e->steps, e->data);
}

static void jt_run_elementwise(jt_elementwise *e, int64_t n) {
    jt_parallel_for(jt_elementwise_part, e, n, JT_ELEMENTWISE_CHUNK);
}

#endif
