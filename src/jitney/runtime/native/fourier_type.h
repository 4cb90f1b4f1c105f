/* The function of `fourier.h` for one type of numbers T and one set of instructions; included by
   `fourier_types.h`. VECTOR is the number of bytes of a vector, 0 for single numbers. */

#if VECTOR
#define LANES (VECTOR / T_BYTES)
typedef T NAME(vector) __attribute__((vector_size(VECTOR)));
#else
#define LANES 1
typedef T NAME(vector);
#endif
#define V NAME(vector)
#define C NAME(complex)

#include "fourier_passes_type.h"

#include "fourier_moves_type.h"

/* Returns the place of element `e` of a line of a matrix in the half of a spectrum that is kept. Sets
   `is_conjugate` to 1 if its conjugate is stored there, to 2 if the element is its own counterpart,
   else to 0. A line is row `line / after % rows` of a matrix. */
JT_INLINE int64_t NAME(half_at)(const jt_fourier *job, int64_t after, int64_t line, int64_t e,
                                int *is_conjugate) {
    int64_t all = job->columns * job->n, row = line / after % job->rows;
    int64_t k = row + job->columns * e, extent = all / 2 + 1;
    *is_conjugate = k >= extent ? 1 : k == 0 || 2 * k == all ? 2 : 0;
    if (k >= extent) k = all - k;
    return (line / after / job->rows * extent + k) * after + line % after;
}

/* Returns how the elements `e` of a tile's lines are stored there: 1 if all are adjacent, -1 if all of
   their conjugates are adjacent in the opposite order, else 0. `at` receives the place of the first one
   in memory. */
JT_INLINE int NAME(half_order)(const jt_fourier *job, int64_t after, int64_t line, int64_t count, int64_t e,
                               int64_t *at) {
    int64_t all = job->columns * job->n, row = line % job->rows, extent = all / 2 + 1;
    int64_t k = row + job->columns * e, matrix = line / job->rows * extent;
    if (after != 1 || count < LANES || row + LANES > job->rows) return 0;
    if (k >= extent) {
        *at = matrix + all - k - (LANES - 1);
        return -1;
    }
    *at = matrix + k;
    return k > 0 && k + LANES - 1 < extent - 1 ? 1 : 0;
}

/* Reads the elements of lines of a matrix from half of its spectrum, and exchanges their parts. */
static TARGET void NAME(half_in)(const jt_fourier_arrays *a, int64_t line, int64_t count, C *to) {
    const jt_fourier *job = a->job;
    int64_t scale = job->from == JT_WHOLE ? 2 : 1;
    const T *re = a->from[0], *im = job->from == JT_WHOLE ? re + 1 : a->from[1];
    for (int64_t e = 0; e < job->n; e++) {
        int64_t at;
        int order = NAME(half_order)(job, job->after_from, line, count, e, &at);
        if (order) {
            V r, i;
            NAME(get_parts)(re, im, scale, at, &r, &i);
            to[e].i = order > 0 ? r : NAME(backwards)(r);
            to[e].r = order > 0 ? i : -NAME(backwards)(i);
            continue;
        }
        for (int64_t l = 0; l < LANES; l++) {
            int conjugate;
            at = NAME(half_at)(job, job->after_from, line + (l < count ? l : 0), e, &conjugate);
            JT_LANE(to[e].i, l) = re[scale * at];
            JT_LANE(to[e].r, l) = conjugate == 2 ? 0 : conjugate ? -im[scale * at] : im[scale * at];
        }
    }
}

static TARGET void NAME(half_out)(const jt_fourier_arrays *a, int64_t line, int64_t count, const C *from) {
    const jt_fourier *job = a->job;
    int64_t scale = job->to == JT_WHOLE ? 2 : 1;
    T *re = a->to[0], *im = job->to == JT_WHOLE ? re + 1 : a->to[1];
    for (int64_t e = 0; e < job->n; e++) {
        int64_t at;
        int order = NAME(half_order)(job, job->after_to, line, count, e, &at);
        if (order) {
            V r = from[e].r, i = from[e].i;
            if (order < 0) {
                r = NAME(backwards)(r);
                i = -NAME(backwards)(i);
            }
            NAME(put_parts)(re, im, scale, at, r, i);
            continue;
        }
        for (int64_t l = 0; l < count; l++) {
            int conjugate;
            at = NAME(half_at)(job, job->after_to, line + l, e, &conjugate);
            re[scale * at] = JT_LANE(from[e].r, l);
            im[scale * at] = conjugate == 2 ? 0
                             : conjugate    ? -JT_LANE(from[e].i, l)
                                            : JT_LANE(from[e].i, l);
        }
    }
}

/* Multiplies element e of each line by its root of unity. Elements whose root is 1 are unchanged, even
   if they are infinite. */
static TARGET void NAME(twist)(const jt_fourier_arrays *a, int64_t line, int64_t count, C *x) {
    const jt_fourier *job = a->job;
    const T *re = a->factors[0], *im = a->factors[1];
    int64_t elements = job->kind == JT_OF_REAL ? job->n / 2 + 1 : job->n;
    int64_t first = line / job->beside % job->width;
    int in_order = job->beside == 1 && count == LANES && first + LANES <= job->width;
    int64_t at[LANES];
    int has_one = 0;
    for (int64_t l = 0; l < LANES; l++) {
        at[l] = (line + (l < count ? l : 0)) / job->beside % job->width;
        has_one |= at[l] == 0;
    }
    for (int64_t e = 1; e < elements; e++) {
        re += job->width;
        im += job->width;
        T picked[2][LANES];
        const T *factors[2] = {re + first, im + first};
        if (!in_order) {
            for (int l = 0; l < LANES; l++) {
                picked[0][l] = re[at[l]];
                picked[1][l] = im[at[l]];
            }
            factors[0] = picked[0];
            factors[1] = picked[1];
        }
        V wr = NAME(get)(factors[0]), wi = NAME(get)(factors[1]);
        C z = x[e];
        x[e] = (C){z.r * wr - z.i * wi, z.r * wi + z.i * wr};
        for (int l = 0; l < LANES && has_one; l++)
            if (at[l] == 0) {
                JT_LANE(x[e].r, l) = JT_LANE(z.r, l);
                JT_LANE(x[e].i, l) = JT_LANE(z.i, l);
            }
    }
}

/* A transform of n numbers as a convolution: j k = (j^2 + k^2 - (k - j)^2) / 2. The operand `x` becomes the
   operand `y` of the convolution; half a spectrum, whose parts are exchanged, is completed before. */
static TARGET void NAME(chirp_in)(const jt_fourier_arrays *a, C *x, C *y) {
    const jt_fourier *job = a->job;
    const T *chirp = a->chirp;
    int64_t n = job->n;
    if (job->kind == JT_TO_REAL) {
        x[0].r = NAME(nothing)();
        if (n % 2 == 0) x[n / 2].r = NAME(nothing)();
        for (int64_t k = 1; k < (n + 1) / 2; k++) x[n - k] = (C){-x[k].r, x[k].i};
    }
    for (int64_t k = 0; k < n; k++) y[k] = NAME(times)(x[k], chirp[2 * k], chirp[2 * k + 1]);
    memset(y + n, 0, (job->chirped - n) * sizeof(C));
}

/* Replaces the transform of the operand by that of the result, with exchanged parts for the inverse
   transform. */
static TARGET void NAME(chirp_turn)(const jt_fourier_arrays *a, C *u) {
    const T *spectrum = a->spectrum;
    for (int64_t k = 0; k < a->job->chirped; k++) {
        C w = NAME(times)(u[k], spectrum[2 * k], spectrum[2 * k + 1]);
        u[k] = (C){w.i, w.r};
    }
}

static TARGET void NAME(chirp_out)(const jt_fourier_arrays *a, const C *u, C *x) {
    const jt_fourier *job = a->job;
    const T *chirp = a->chirp;
    int64_t n = job->n;
    for (int64_t k = 0; k < n; k++)
        x[k] = NAME(times)((C){u[k].i, u[k].r}, chirp[2 * k], chirp[2 * k + 1]);
    if (job->kind == JT_OF_REAL) {
        x[0].i = NAME(nothing)();
        if (n % 2 == 0) x[n / 2].i = NAME(nothing)();
    }
}

static TARGET void NAME(bring)(const jt_fourier_arrays *a, int64_t line, int64_t count, C *x) {
    const jt_fourier *job = a->job;
    V *parts = (V *)x;
    int flip = job->inverse && (job->kind == JT_OF_COMPLEX || job->chirped);
    int64_t m = job->kind == JT_TO_REAL ? job->n / 2 + 1 : job->n;
    NAME(where) from = NAME(find)(line, count, m, job->after_from);
    if (job->columns && job->inverse) {
        NAME(half_in)(a, line, count, x);
    } else if (job->kind == JT_OF_REAL && job->chirped) {
        NAME(plane_in)(a->from[0], &from, m, parts, 2);
        for (int64_t k = 0; k < m; k++) x[k].i = NAME(nothing)();
    } else if (job->kind == JT_OF_REAL) {
        NAME(plane_in)(a->from[0], &from, m, parts + 1, 1);
    } else if (job->from == JT_PLANES) {
        NAME(plane_in)(a->from[0], &from, m, parts + flip, 2);
        NAME(plane_in)(a->from[1], &from, m, parts + 1 - flip, 2);
    } else {
        NAME(whole_in)(a->from[0], &from, m, x, flip);
    }
}

static TARGET void NAME(take)(const jt_fourier_arrays *a, int64_t line, int64_t count, const C *x) {
    const jt_fourier *job = a->job;
    const V *parts = (const V *)x;
    int flip = job->inverse && job->kind == JT_OF_COMPLEX;
    int64_t m = job->kind == JT_OF_REAL ? job->n / 2 + 1 : job->n;
    NAME(where) to = NAME(find)(line, count, m, job->after_to);
    if (job->columns && !job->inverse) {
        NAME(half_out)(a, line, count, x);
    } else if (job->kind == JT_TO_REAL && job->chirped) {
        NAME(plane_out)(a->to[0], &to, m, parts + 1, 2);
    } else if (job->kind == JT_TO_REAL) {
        NAME(plane_out)(a->to[0], &to, m, parts + 1, 1);
    } else if (job->to == JT_PLANES) {
        NAME(plane_out)(a->to[0], &to, m, parts + flip, 2);
        NAME(plane_out)(a->to[1], &to, m, parts + 1 - flip, 2);
    } else {
        NAME(whole_out)(a->to[0], &to, m, x, flip);
    }
}

static TARGET void NAME(scale)(const jt_fourier *job, C *x) {
    if (job->divisor == 1) return;
    T factor = (T)1 / (T)job->divisor;
    int64_t vectors = job->kind == JT_OF_COMPLEX || job->chirped ? 2 * job->n : job->n + 2;
    for (int64_t k = 0; k < vectors; k++) ((V *)x)[k] *= factor;
}

/* Transforms `count` lines from `line` on, at most as many as there are lanes. */
static TARGET void NAME(tile)(const jt_fourier_arrays *a, int64_t line, int64_t count, char *memory) {
    const jt_fourier *job = a->job;
    int64_t n = job->n, room = (job->chirped ? job->chirped : n) + 2;
    C *x = (C *)memory, *y = x + room, *out = x;
    NAME(bring)(a, line, count, x);
    if (job->kind == JT_OF_COMPLEX && !job->chirped) {
        out = NAME(passes)(job, n, x, y, a->roots);
    } else if (job->chirped) {
        NAME(chirp_in)(a, x, y);
        C *u = NAME(passes)(job, job->chirped, y, y + room, a->roots);
        NAME(chirp_turn)(a, u);
        u = NAME(passes)(job, job->chirped, u, u == y ? y + room : y, a->roots);
        NAME(chirp_out)(a, u, x);
    } else if (job->kind == JT_OF_REAL) {
        V *found = NAME(passes_of_real)(job, n, (V *)x + 1, (V *)y + 1, a->roots);
        found[-1] = found[0];
        found[0] = NAME(nothing)();
        if (n % 2 == 0) found[n] = NAME(nothing)();
        out = (C *)(found - 1);
    } else {
        ((V *)x)[1] = ((V *)x)[0];
        out = (C *)(NAME(passes_to_real)(job, n, (V *)x + 1, (V *)y + 1, a->roots) - 1);
    }
    NAME(scale)(job, out);
    if (job->beside) NAME(twist)(a, line, count, out);
    NAME(take)(a, line, count, out);
}

/* Transforms the lines from `line` to `stop` - 1. */
static TARGET void NAME(several)(const jt_fourier_arrays *a, int64_t line, int64_t stop, char *memory) {
    for (; line < stop; line += LANES) {
        int64_t count = stop - line < LANES ? stop - line : LANES;
        if (count > JT_FEW_LINES || LANES <= 2)
            NAME(tile)(a, line, count, memory);
        else
            for (int64_t l = 0; l < count; l++) SINGLE(tile)(a, line + l, 1, memory);
    }
}

static TARGET int32_t NAME(lines)(void *call, void **slots, int64_t begin, int64_t end) {
    enum { TILE = JT_TILE_BYTES / T_BYTES };
    (void)call;
    const jt_fourier *job = slots[0];
    jt_fourier_arrays a = {.job = job};
    void **rest = jt_fourier_from(&a, slots + 1);
    rest = jt_fourier_to(&a, jt_fourier_constants(&a, rest));
    for (int64_t item = begin; item < end; item++) {
        int64_t line = item * job->tiles * TILE, stop = line + job->tiles * TILE;
        char *memory = (char *)rest[0] + item * job->room;
        NAME(several)(&a, line, stop < job->lines ? stop : job->lines, memory);
    }
    return 1;
}

JT_INLINE TARGET const void *NAME(further)(const void *array, int64_t numbers) {
    return array ? (const T *)array + numbers : NULL;
}

static TARGET int32_t NAME(matrices)(void *call, void **slots, int64_t begin, int64_t end) {
    (void)call;
    const jt_fourier_matrices *job = slots[0];
    jt_fourier_arrays first = {.job = &job->first}, second = {.job = &job->second};
    void **rest = jt_fourier_from(&first, slots + 1);
    rest = jt_fourier_constants(&second, jt_fourier_constants(&first, rest));
    rest = jt_fourier_to(&second, rest);
    const void *const from[2] = {first.from[0], first.from[1]};
    void *const to[2] = {second.to[0], second.to[1]};
    for (int64_t item = begin; item < end; item++) {
        T *between = (T *)((char *)rest[0] + item * job->room);
        char *memory = (char *)(between + 2 * job->between);
        first.to[0] = between;
        first.to[1] = between + job->between;
        second.from[0] = between;
        second.from[1] = between + job->between;
        int64_t stop = (item + 1) * job->in_item;
        for (int64_t line = item * job->in_item; line < stop && line < job->lines; line++) {
            for (int k = 0; k < 2; k++) {
                first.from[k] = NAME(further)(from[k], line * job->from_numbers);
                second.to[k] = (void *)NAME(further)(to[k], line * job->to_numbers);
            }
            NAME(several)(&first, 0, job->first.lines, memory);
            NAME(several)(&second, 0, job->second.lines, memory);
        }
    }
    return 1;
}

/* Transforms lines as convolutions with a chirp, whose transforms are those of matrices. */
static TARGET int32_t NAME(chirps)(void *call, void **slots, int64_t begin, int64_t end) {
    (void)call;
    const jt_fourier_chirps *job = slots[0];
    jt_fourier_arrays line = {.job = &job->line}, first = {.job = &job->first}, second = {.job = &job->second};
    void **rest = jt_fourier_from(&line, slots + 1);
    rest = jt_fourier_constants(&line, rest);
    rest = jt_fourier_constants(&second, jt_fourier_constants(&first, rest));
    rest = jt_fourier_to(&line, rest);
    /* a multiple of a cache line */
    int64_t size = (job->line.chirped / JT_TILE_BYTES + 1) * JT_TILE_BYTES;
    for (int64_t item = begin; item < end; item++) {
        T *between = (T *)((char *)rest[0] + item * job->room);
        T *x = between + 2 * job->between, *y = x + 2 * size, *z = y + 2 * size;
        char *memory = (char *)(z + 2 * size);
        first.to[0] = between;
        first.to[1] = between + job->between;
        second.from[0] = between;
        second.from[1] = between + job->between;
        int64_t stop = (item + 1) * job->in_item;
        for (int64_t k = item * job->in_item; k < stop && k < job->line.lines; k++) {
            SINGLE(bring)(&line, k, 1, (SINGLE(complex) *)x);
            SINGLE(chirp_in)(&line, (SINGLE(complex) *)x, (SINGLE(complex) *)y);
            for (int way = 0; way < 2; way++) {
                first.from[0] = way ? z : y;
                second.to[0] = way ? y : z;
                NAME(several)(&first, 0, job->first.lines, memory);
                NAME(several)(&second, 0, job->second.lines, memory);
                if (!way) SINGLE(chirp_turn)(&line, (SINGLE(complex) *)z);
            }
            SINGLE(chirp_out)(&line, (SINGLE(complex) *)y, (SINGLE(complex) *)x);
            SINGLE(scale)(&job->line, (SINGLE(complex) *)x);
            SINGLE(take)(&line, k, 1, (SINGLE(complex) *)x);
        }
    }
    return 1;
}

#undef LANES
#undef V
#undef C
#undef JT_LANE
