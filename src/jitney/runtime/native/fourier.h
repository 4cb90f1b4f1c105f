/* Discrete Fourier transforms of many lines of an array, one line in each lane of vectors.

   The three functions have the signature of a kernel, `int32_t f(void *call, void **slots, int64_t begin,
   int64_t end)`. They cannot fail, so they do not use the call. An item of `lines` consists of several
   tiles, and a tile of as many lines as a cache line has numbers. The elements of a tile's lines are
   copied to a workspace, as vectors with one element of each line; all factors of the length are
   processed there, and the results are copied to their places. So an array is read once and written
   once, whichever axis is transformed, and the code of a factor serves all lengths.

   Complex numbers are transformed by decimation in frequency, as Stockham orders it; real numbers by
   decimation in time, with half of the spectrum kept, and back by the mirror image of that (Swarztrauber
   1982): they have no imaginary parts that would multiply infinities by 0. The factors and their order are
   pocketfft's (Reinecke), so that infinities and overflows come out as those of NumPy, SciPy and JAX do. A
   length with a large prime factor is a convolution with a chirp (Bluestein 1970).

   A line that is long, or alone, is a matrix of n = n1 n2 elements, of which columns are transformed first,
   times roots of unity, then rows (Bailey, FFTs in external or hierarchical memory, 1990): by two calls for
   all lines, or by one of `matrices`, line by line. `chirps` takes line by line, too, for convolutions.

   The code is compiled for float and double and each set of instructions (`fourier_type.h`). */

#ifndef JITNEY_FOURIER_H
#define JITNEY_FOURIER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "instructions.h"

enum { JT_OF_COMPLEX, JT_OF_REAL, JT_TO_REAL }; /* kinds */
/* the layout of complex numbers: adjacent parts, or an array for each part */
enum { JT_WHOLE, JT_PLANES };
enum { JT_TILE_BYTES = 64, JT_RADICES = 40, JT_LARGEST_FACTOR = 272 };
/* The number of lines up to which each line is transformed by scalar code, not all lines in lanes. */
enum { JT_FEW_LINES = 2 };

/* The parameters of the function, as int64s in this order, which `compiler/fourier.py` writes. */
typedef struct {
    int64_t kind;
    int64_t lines;     /* lines of the whole array */
    int64_t n;         /* numbers of a line; on the real side, for transforms of or to real numbers */
    int64_t from, to;  /* the layouts of the operand and the result */
    int64_t after_from, after_to; /* distances, in elements, between neighbors in a line */
    int64_t inverse;   /* the kernel is exp(+2 pi i j k / n) */
    int64_t divisor;   /* divisor of the results */
    /* Half of the spectrum of real numbers is kept. If `columns` is not 0, it is the spectrum of a
       matrix: lines are the first `rows` of its rows, the elements of a line are `columns` apart in it,
       and the elements beyond the half are conjugates. The spectrum is the operand if `inverse`, else
       the result. */
    int64_t columns, rows;
    /* If `beside` is not 0, elements are multiplied by roots of unity, [n, width], which are the same
       for `beside` lines. */
    int64_t beside, width;
    int64_t chirped;   /* length of the convolution with a chirp, or 0 */
    int64_t tiles;     /* tiles of an item */
    int64_t room;      /* bytes of workspace for an item */
    int64_t radices;   /* number of factors */
    int64_t radix[JT_RADICES];
} jt_fourier;

/* Transforms of lines, each of which is a matrix, by two jobs: the first one writes parts of `between`
   numbers each to a workspace, which the second one reads. A line has `from_numbers` numbers in each
   array of the operand, and `to_numbers` in each array of the result; an item consists of `in_item`
   lines. */
typedef struct {
    int64_t lines, in_item, from_numbers, to_numbers, between, room;
    jt_fourier first, second;
} jt_fourier_matrices;

/* Transforms of lines as convolutions with a chirp, whose transforms are those of matrices: two jobs
   transform a line, as above. */
typedef struct {
    int64_t in_item, between, room;
    jt_fourier line, first, second;
} jt_fourier_chirps;

/* The arrays of a job: the operand (one array, or two for the parts), the roots of unity for the length
   of the passes, a chirp and its spectrum, the parts of factors, and the result. */
typedef struct {
    const jt_fourier *job;
    const void *from[2], *roots, *chirp, *spectrum, *factors[2];
    void *to[2];
} jt_fourier_arrays;

static inline void **jt_fourier_from(jt_fourier_arrays *a, void **slots) {
    a->from[0] = *slots++;
    a->from[1] = a->job->from == JT_PLANES && a->job->kind != JT_OF_REAL ? *slots++ : NULL;
    return slots;
}

static inline void **jt_fourier_constants(jt_fourier_arrays *a, void **slots) {
    a->roots = *slots++;
    if (a->job->chirped) {
        a->chirp = *slots++;
        a->spectrum = *slots++;
    }
    if (a->job->beside) {
        a->factors[0] = *slots++;
        a->factors[1] = *slots++;
    }
    return slots;
}

static inline void **jt_fourier_to(jt_fourier_arrays *a, void **slots) {
    a->to[0] = *slots++;
    a->to[1] = a->job->to == JT_PLANES && a->job->kind != JT_TO_REAL ? *slots++ : NULL;
    return slots;
}

/* Returns the position, in elements, of the beginning of line `line`, if lines have `extent` elements
   that are `after` apart. */
static inline int64_t jt_line_at(int64_t line, int64_t extent, int64_t after) {
    return line / after * extent * after + line % after;
}

/* The function for single lines of the same type. */
#define SINGLE(name) JT_NAME__(name, TYPE, single)

#define ISA single
#define TARGET
#define VECTOR 0
#include "fourier_types.h"
#undef ISA
#undef TARGET
#undef VECTOR

#ifdef JT_X86
#define ISA avx2
#define TARGET __attribute__((target("avx2,fma")))
#define VECTOR 32
#include "fourier_types.h"
#undef ISA
#undef TARGET
#undef VECTOR

#define ISA avx512
#define TARGET JT_AVX512
#define VECTOR 64
#include "fourier_types.h"
#undef ISA
#undef TARGET
#undef VECTOR
#else
#define ISA vector
#define TARGET
#define VECTOR 16
#include "fourier_types.h"
#undef ISA
#undef TARGET
#undef VECTOR
#endif

#define JT_FOURIER_TABLE(isa)                                                                      \
    {{(void *)jt_lines_f32_##isa, (void *)jt_matrices_f32_##isa, (void *)jt_chirps_f32_##isa},     \
     {(void *)jt_lines_f64_##isa, (void *)jt_matrices_f64_##isa, (void *)jt_chirps_f64_##isa}}

/* Address of the function for lines (kind 0), for lines as matrices (1) or as convolutions (2), of float32
   (type 0) or float64 (1), for the best instructions up to `level` that the processor has. Processors of
   x86-64 without AVX2 are rare, and have no vectors here: each instance takes the compiler seconds. */
static void *jt_fourier_function(int kind, int type, int level) {
    static void *const tables[][2][3] = {
#ifdef JT_X86
        JT_FOURIER_TABLE(single), JT_FOURIER_TABLE(avx2), JT_FOURIER_TABLE(avx512),
#else
        JT_FOURIER_TABLE(vector),
#endif
    };
    return tables[jt_level(level)][type][kind];
}

#endif
