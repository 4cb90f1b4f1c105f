/* out = mask ? x : y on contiguous data: NumPy's `where` mispredicts a branch for every other element
   of a random mask, and takes twenty times as long. A step of 0 repeats a scalar. */

#ifndef JITNEY_SELECT_H
#define JITNEY_SELECT_H

#include <stddef.h>
#include <stdint.h>

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

/* Whether elements of `size` bytes can be selected; if so, they are. */
static int jt_select(const void *m, const void *x, const void *y, void *out, ptrdiff_t n, int size,
                     int step_x, int step_y) {
    switch (size) {
    case 1: jt_select8(m, x, y, out, n, step_x, step_y); return 1;
    case 2: jt_select16(m, x, y, out, n, step_x, step_y); return 1;
    case 4: jt_select32(m, x, y, out, n, step_x, step_y); return 1;
    case 8: jt_select64(m, x, y, out, n, step_x, step_y); return 1;
    default: return 0;
    }
}

#endif
