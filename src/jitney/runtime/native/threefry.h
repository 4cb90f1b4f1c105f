/* Threefry-2x32 with 20 rounds on arrays, which takes most of the time of eager draws of random numbers.

   Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. The same rounds
   are implemented in `compiler/reference/threefry.py`, with NumPy, and in
   `primitives/random/threefry.py`, for compiled code. */

#ifndef JITNEY_THREEFRY_H
#define JITNEY_THREEFRY_H

#include <stddef.h>
#include <stdint.h>

#define JT_PARITY UINT32_C(0x1BD11BDA)
#define JT_ROUND(a, b, r) (a += b, b = (b << r | b >> (32 - r)) ^ a)
#define JT_FOUR_ROUNDS(a, b, p, q, r, s) \
    (JT_ROUND(a, b, p), JT_ROUND(a, b, q), JT_ROUND(a, b, r), JT_ROUND(a, b, s))

/* Hashes (x0[i], x1[i]) in place under the key (k0[i * step], k1[i * step]); step is 0 or 1. */
static void jt_threefry(const uint32_t *k0, const uint32_t *k1, size_t step, uint32_t *x0,
                        uint32_t *x1, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint32_t u = k0[i * step], v = k1[i * step], w = u ^ v ^ JT_PARITY;
        uint32_t a = x0[i] + u, b = x1[i] + v;
        JT_FOUR_ROUNDS(a, b, 13, 15, 26, 6);
        a += v, b += w + 1;
        JT_FOUR_ROUNDS(a, b, 17, 29, 16, 24);
        a += w, b += u + 2;
        JT_FOUR_ROUNDS(a, b, 13, 15, 26, 6);
        a += u, b += v + 3;
        JT_FOUR_ROUNDS(a, b, 17, 29, 16, 24);
        a += v, b += w + 4;
        JT_FOUR_ROUNDS(a, b, 13, 15, 26, 6);
        x0[i] = a + w, x1[i] = b + u + 5;
    }
}

#endif
