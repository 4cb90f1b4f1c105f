/* Convolutions by register tiles, without an array of patches of the image or of its rows.

   The two functions have the signature of a kernel, `int32_t f(void *call, void **slots, int64_t begin,
   int64_t end)`. They cannot fail, so they do not use the call:

     forward   out[n, o, f] = sum over k, c of x[n, o * stride + k * dilation - low, c] * w[k, c, f]
     filter    out[i, k, c, f] = sum over the rows (n, o) of part i of
                                 x[n, o * dilation + k * stride - low, c] * w[n, o, f]

   o and k stand for three spatial axes, of which leading ones may have the extent 1. Features come
   last, so that a vector contains neighboring features of the result. A tile consists of some rows of
   the result (pixels in `forward`, channels of x in `filter`) by one or two vectors. It stays in
   registers while its sums are computed: each element of x is loaded once for both vectors, and each
   vector of w once for all rows. `forward` takes w in panels of JT_PANEL_ROW bytes of consecutive
   features, with zeros after the last feature. It copies the rows of an image that overlap the padding
   to some lines in the cache, with zeros around them.

   The code is compiled for each type of elements and each set of instructions (`convolve_type.h`). */

#ifndef JITNEY_CONVOLVE_H
#define JITNEY_CONVOLVE_H

#include <stdint.h>
#include <string.h>

#include "instructions.h"

enum { JT_SPACE = 3 };

/* The parameters of both functions, as int64s in this order; `compiler/convolutions.py` writes them. */
typedef struct {
    int64_t batch, channels, features, groups;
    int64_t in[JT_SPACE];       /* extents of x */
    int64_t window[JT_SPACE];   /* extents of k */
    int64_t out[JT_SPACE];      /* extents of o */
    int64_t stride[JT_SPACE];   /* the stride of o in `forward`, of k in `filter` */
    int64_t dilation[JT_SPACE]; /* the dilation of k in `forward`, of o in `filter` */
    int64_t low[JT_SPACE];      /* elements of padding before the first element */
    int64_t rows;               /* rows of the result, or of w, in one item of work */
    int64_t room;               /* bytes of workspace that `forward` needs for an item */
} jt_window;

/* Bytes of a row of a panel, a multiple of the width of a tile for each set of instructions. */
enum { JT_PANEL_ROW = 128 };
/* Bytes of the panels of w that are read for each row. They share the second-level cache with rows of
   x. */
enum { JT_PANEL_BYTES = 1 << 19 };
/* Bytes of the rows of x and w that `filter` reads repeatedly. */
enum { JT_FILTER_BYTES = 1 << 17 };

static inline int64_t jt_min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t jt_max64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t jt_up(int64_t a, int64_t b) { return (a + b - 1) / b; }


/* The sets of instructions: name, bytes of a vector, and rows of a tile, for which the registers that w
   does not occupy suffice. */
#define ISA base
#define TARGET
#define VECTOR 16
#define ROWS 5
#include "convolve_types.h"
#undef ISA
#undef TARGET
#undef VECTOR
#undef ROWS

#ifdef JT_X86
#define ISA avx2
#define TARGET __attribute__((target("avx2,fma")))
#define VECTOR 32
#define ROWS 6
#include "convolve_types.h"
#undef ISA
#undef TARGET
#undef VECTOR
#undef ROWS

#define ISA avx512
#define TARGET JT_AVX512
#define VECTOR 64
#define ROWS 12
#include "convolve_types.h"
#undef ISA
#undef TARGET
#undef VECTOR
#undef ROWS
#endif

enum { JT_CONVOLVE_TYPES = 4, JT_CONVOLVE_KINDS = 2 };

#define JT_TABLE(isa)                                                                              \
    {{(void *)jt_forward_f32_##isa, (void *)jt_filter_f32_##isa},                                  \
     {(void *)jt_forward_f64_##isa, (void *)jt_filter_f64_##isa},                                  \
     {(void *)jt_forward_i32_##isa, (void *)jt_filter_i32_##isa},                                  \
     {(void *)jt_forward_i64_##isa, (void *)jt_filter_i64_##isa}}

/* Returns the address of `forward` (kind 0) or `filter` (kind 1) for float32, float64, int32 or int64
   (types 0 to 3), for the best instructions up to `level` that the processor has. */
static void *jt_convolution(int kind, int type, int level) {
    static void *const tables[][JT_CONVOLVE_TYPES][JT_CONVOLVE_KINDS] = {
        JT_TABLE(base),
#ifdef JT_X86
        JT_TABLE(avx2), JT_TABLE(avx512),
#endif
    };
    return tables[jt_level(level)][type][kind];
}

#endif
