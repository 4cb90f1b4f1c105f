/* out = mask ? x : y on contiguous data: NumPy's `where` mispredicts a branch for every other element
   of a random mask, and takes twenty times as long. A step of 0 repeats a scalar. */

#ifndef JITNEY_SELECT_H
#define JITNEY_SELECT_H

#include <stddef.h>
#include <stdint.h>

#include "threads.h"

#define JT_SELECT(NAME, TYPE)                                                                     \
    static void NAME(const uint8_t *m, const TYPE *x, const TYPE *y, TYPE *out, ptrdiff_t n,      \
                     int step_x, int step_y) {                                                    \
        if (step_x && step_y)                                                                     \
            for (ptrdiff_t i = 0; i < n; i++) {                                                   \
                TYPE bits = (TYPE)(-(TYPE)(m[i] != 0));                                           \
                out[i] = (TYPE)((x[i] & bits) | (y[i] & (TYPE)~bits));                            \
            }                                                                                     \
        else                                                                                      \
            for (ptrdiff_t i = 0; i < n; i++) {                                                   \
                TYPE bits = (TYPE)(-(TYPE)(m[i] != 0));                                           \
                out[i] = (TYPE)((x[i * step_x] & bits) | (y[i * step_y] & (TYPE)~bits));          \
            }                                                                                     \
    }

JT_SELECT(jt_select8, uint8_t)
JT_SELECT(jt_select16, uint16_t)
JT_SELECT(jt_select32, uint32_t)
JT_SELECT(jt_select64, uint64_t)

typedef struct {
    const char *m, *x, *y;
    char *out;
    int size, step_x, step_y;
} jt_selection;

/* Computes elements begin .. end - 1 of a selection: a part of the loop that threads share. */
static int32_t jt_select_part(jt_call *call, void *slots, int64_t begin, int64_t end) {
    const jt_selection *s = (const jt_selection *)slots;
    const void *m = s->m + begin, *x = s->x + begin * s->size * s->step_x;
    const void *y = s->y + begin * s->size * s->step_y;
    void *out = s->out + begin * s->size;
    switch (s->size) {
    case 1: jt_select8(m, x, y, out, end - begin, s->step_x, s->step_y); break;
    case 2: jt_select16(m, x, y, out, end - begin, s->step_x, s->step_y); break;
    case 4: jt_select32(m, x, y, out, end - begin, s->step_x, s->step_y); break;
    case 8: jt_select64(m, x, y, out, end - begin, s->step_x, s->step_y); break;
    }
    return JT_SUCCEEDED;
}

#define JT_SELECT_CHUNK (1 << 16) /* elements, which take some tens of microseconds */

/* Selects elements. Returns 1 on success, 0 if elements of `size` bytes are not supported, and -1 if
   the loop was interrupted. */
static int jt_select(jt_call *call, const void *m, const void *x, const void *y, void *out, ptrdiff_t n,
                     int size, int step_x, int step_y) {
    jt_selection s = {m, x, y, out, size, step_x, step_y};
    if (size != 1 && size != 2 && size != 4 && size != 8) return 0;
    return jt_parallel_for(call, jt_select_part, &s, n, JT_SELECT_CHUNK) == JT_SUCCEEDED ? 1 : -1;
}

#endif
