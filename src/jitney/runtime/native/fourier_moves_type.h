/* Elements of lines between an array and vectors that have a line in each lane; included by
   `fourier_type.h`.

   Lines whose elements lie side by side are transposed in registers, those that lie side by side themselves
   are read as they are; others go number by number. */

/* The positions of the lines of a tile. */
typedef struct {
    int64_t count;         /* the number of lines, which are in the first lanes */
    int64_t at[LANES];     /* their first elements; lanes without a line repeat the first one */
    int64_t after;         /* the distance, in elements, between neighbors in a line */
    int is_side_by_side;   /* whether all lanes have lines, each one element after the previous one */
} NAME(where);

static TARGET NAME(where) NAME(find)(int64_t line, int64_t count, int64_t extent, int64_t after) {
    NAME(where) w = {.count = count, .after = after, .is_side_by_side = count == LANES};
    for (int64_t l = 0; l < LANES; l++) {
        w.at[l] = jt_line_at(l < count ? line + l : line, extent, after);
        w.is_side_by_side &= w.at[l] == w.at[0] + l;
    }
    return w;
}

JT_INLINE TARGET V NAME(get)(const T *at) {
    V v;
    memcpy(&v, at, sizeof(V));
    return v;
}
JT_INLINE TARGET void NAME(put)(T *at, V v) { memcpy(at, &v, sizeof(V)); }

#if LANES > 1
#define JT_LANE(v, l) ((v)[l])

/* LOW and HIGH interleave the elements of two vectors; EVEN and ODD are their inverses. */
#if LANES == 2
#define JT_LOW_MASK 0, 2
#define JT_HIGH_MASK 1, 3
#define JT_EVEN_MASK 0, 2
#define JT_ODD_MASK 1, 3
#define JT_BACKWARDS_MASK 1, 0
#elif LANES == 4
#define JT_LOW_MASK 0, 4, 1, 5
#define JT_HIGH_MASK 2, 6, 3, 7
#define JT_EVEN_MASK 0, 2, 4, 6
#define JT_ODD_MASK 1, 3, 5, 7
#define JT_BACKWARDS_MASK 3, 2, 1, 0
#elif LANES == 8
#define JT_LOW_MASK 0, 8, 1, 9, 2, 10, 3, 11
#define JT_HIGH_MASK 4, 12, 5, 13, 6, 14, 7, 15
#define JT_EVEN_MASK 0, 2, 4, 6, 8, 10, 12, 14
#define JT_ODD_MASK 1, 3, 5, 7, 9, 11, 13, 15
#define JT_BACKWARDS_MASK 7, 6, 5, 4, 3, 2, 1, 0
#else
#define JT_LOW_MASK 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define JT_HIGH_MASK 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define JT_EVEN_MASK 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define JT_ODD_MASK 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define JT_BACKWARDS_MASK 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
#endif

#ifdef __clang__
#define JT_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef MASK NAME(mask) __attribute__((vector_size(VECTOR)));
#define JT_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (NAME(mask)){__VA_ARGS__})
#endif
#define LOW(a, b) JT_SHUFFLE(a, b, JT_LOW_MASK)
#define HIGH(a, b) JT_SHUFFLE(a, b, JT_HIGH_MASK)
#define EVEN(a, b) JT_SHUFFLE(a, b, JT_EVEN_MASK)
#define ODD(a, b) JT_SHUFFLE(a, b, JT_ODD_MASK)

/* Rows k and k + LANES / 2 become rows 2 k and 2 k + 1, in turns: after log2(LANES) of that rows are columns. */
JT_INLINE TARGET void NAME(turn)(V *a) {
    V b[LANES];
#pragma GCC unroll 4
    for (int stage = 1; stage < LANES; stage *= 2) {
#pragma GCC unroll 16
        for (int k = 0; k < LANES / 2; k++) {
            b[2 * k] = LOW(a[k], a[k + LANES / 2]);
            b[2 * k + 1] = HIGH(a[k], a[k + LANES / 2]);
        }
#pragma GCC unroll 16
        for (int k = 0; k < LANES; k++) a[k] = b[k];
    }
}

/* Reverses the order of the lanes. */
JT_INLINE TARGET V NAME(backwards)(V v) { return JT_SHUFFLE(v, v, JT_BACKWARDS_MASK); }

/* Reads complex numbers that are adjacent from `at` on; `scale` is 2 if their parts are adjacent, too,
   else 1. */
JT_INLINE TARGET void NAME(get_parts)(const T *re, const T *im, int64_t scale, int64_t at, V *r, V *i) {
    if (scale == 1) {
        *r = NAME(get)(re + at);
        *i = NAME(get)(im + at);
    } else {
        V low = NAME(get)(re + 2 * at), high = NAME(get)(re + 2 * at + LANES);
        *r = EVEN(low, high);
        *i = ODD(low, high);
    }
}

JT_INLINE TARGET void NAME(put_parts)(T *re, T *im, int64_t scale, int64_t at, V r, V i) {
    if (scale == 1) {
        NAME(put)(re + at, r);
        NAME(put)(im + at, i);
    } else {
        NAME(put)(re + 2 * at, LOW(r, i));
        NAME(put)(re + 2 * at + LANES, HIGH(r, i));
    }
}

/* `count` numbers of each line, which begin at `from` + `scale` times the line's place, to every `step`th
   vector from `to` on; number t to place t ^ `flip`. */
static TARGET void NAME(rows_in)(const T *from, int64_t scale, const NAME(where) * w, int64_t count,
                                 V *to, int64_t step, int64_t flip) {
    int64_t t = 0;
    if (count >= LANES)
        for (;;) {
            V a[LANES];
#pragma GCC unroll 16
            for (int l = 0; l < LANES; l++) a[l] = NAME(get)(from + scale * w->at[l] + t);
            NAME(turn)(a);
#pragma GCC unroll 16
            for (int k = 0; k < LANES; k++) to[((t + k) ^ flip) * step] = a[k];
            t += LANES;
            if (t >= count) return;
            /* These numbers overlap those that are written already. */
            if (t > count - LANES) t = count - LANES;
        }
    for (; t < count; t++) {
        V v = {0};
        for (int l = 0; l < LANES; l++) v[l] = from[scale * w->at[l] + t];
        to[(t ^ flip) * step] = v;
    }
}

static TARGET void NAME(rows_out)(T *to, int64_t scale, const NAME(where) * w, int64_t count,
                                  const V *from, int64_t step, int64_t flip) {
    int64_t t = 0;
    if (count >= LANES)
        for (;;) {
            V a[LANES];
#pragma GCC unroll 16
            for (int k = 0; k < LANES; k++) a[k] = from[((t + k) ^ flip) * step];
            NAME(turn)(a);
            if (w->count == LANES) {
#pragma GCC unroll 16
                for (int l = 0; l < LANES; l++) NAME(put)(to + scale * w->at[l] + t, a[l]);
            } else {
                for (int64_t l = 0; l < w->count; l++) NAME(put)(to + scale * w->at[l] + t, a[l]);
            }
            t += LANES;
            if (t >= count) return;
            if (t > count - LANES) t = count - LANES;
        }
    for (; t < count; t++)
        for (int64_t l = 0; l < w->count; l++) to[scale * w->at[l] + t] = from[(t ^ flip) * step][l];
}
#else
#define JT_LANE(v, l) (v)

JT_INLINE TARGET V NAME(backwards)(V v) { return v; }

JT_INLINE TARGET void NAME(get_parts)(const T *re, const T *im, int64_t scale, int64_t at, V *r, V *i) {
    *r = re[scale * at];
    *i = im[scale * at];
}

JT_INLINE TARGET void NAME(put_parts)(T *re, T *im, int64_t scale, int64_t at, V r, V i) {
    re[scale * at] = r;
    im[scale * at] = i;
}

static TARGET void NAME(rows_in)(const T *from, int64_t scale, const NAME(where) * w, int64_t count,
                                 V *to, int64_t step, int64_t flip) {
    for (int64_t t = 0; t < count; t++) to[(t ^ flip) * step] = from[scale * w->at[0] + t];
}

static TARGET void NAME(rows_out)(T *to, int64_t scale, const NAME(where) * w, int64_t count,
                                  const V *from, int64_t step, int64_t flip) {
    for (int64_t t = 0; t < count; t++) to[scale * w->at[0] + t] = from[(t ^ flip) * step];
}
#endif

/* Moves `count` numbers of each line of a plane to every `step`th vector. */
static TARGET void NAME(plane_in)(const T *from, const NAME(where) * w, int64_t count, V *to,
                                  int64_t step) {
    if (w->after == 1) {
        NAME(rows_in)(from, 1, w, count, to, step, 0);
    } else if (w->is_side_by_side) {
        for (int64_t e = 0; e < count; e++) to[e * step] = NAME(get)(from + w->at[0] + e * w->after);
    } else {
        for (int64_t e = 0; e < count; e++)
            for (int l = 0; l < LANES; l++) JT_LANE(to[e * step], l) = from[w->at[l] + e * w->after];
    }
}

static TARGET void NAME(plane_out)(T *to, const NAME(where) * w, int64_t count, const V *from,
                                   int64_t step) {
    if (w->after == 1) {
        NAME(rows_out)(to, 1, w, count, from, step, 0);
    } else if (w->is_side_by_side) {
        for (int64_t e = 0; e < count; e++) NAME(put)(to + w->at[0] + e * w->after, from[e * step]);
    } else {
        for (int64_t e = 0; e < count; e++)
            for (int64_t l = 0; l < w->count; l++)
                to[w->at[l] + e * w->after] = JT_LANE(from[e * step], l);
    }
}

/* Reads `count` complex numbers of each line, whose parts are adjacent; exchanges the parts if
   `flip`. */
static TARGET void NAME(whole_in)(const T *from, const NAME(where) * w, int64_t count, C *to,
                                  int flip) {
    V *parts = (V *)to;
    if (w->after == 1) {
        NAME(rows_in)(from, 2, w, 2 * count, parts, 1, flip);
#if LANES > 1
    } else if (w->is_side_by_side) {
        for (int64_t e = 0; e < count; e++) {
            V *to_e = parts + 2 * e;
            NAME(get_parts)(from, from, 2, w->at[0] + e * w->after, to_e + flip, to_e + 1 - flip);
        }
#endif
    } else {
        for (int64_t e = 0; e < count; e++)
            for (int l = 0; l < LANES; l++) {
                const T *at = from + 2 * (w->at[l] + e * w->after);
                JT_LANE(parts[2 * e + flip], l) = at[0];
                JT_LANE(parts[2 * e + 1 - flip], l) = at[1];
            }
    }
}

static TARGET void NAME(whole_out)(T *to, const NAME(where) * w, int64_t count, const C *from,
                                   int flip) {
    const V *parts = (const V *)from;
    if (w->after == 1) {
        NAME(rows_out)(to, 2, w, 2 * count, parts, 1, flip);
#if LANES > 1
    } else if (w->is_side_by_side) {
        for (int64_t e = 0; e < count; e++) {
            V re = parts[2 * e + flip], im = parts[2 * e + 1 - flip];
            NAME(put_parts)(to, to, 2, w->at[0] + e * w->after, re, im);
        }
#endif
    } else {
        for (int64_t e = 0; e < count; e++)
            for (int64_t l = 0; l < w->count; l++) {
                T *at = to + 2 * (w->at[l] + e * w->after);
                at[0] = JT_LANE(parts[2 * e + flip], l);
                at[1] = JT_LANE(parts[2 * e + 1 - flip], l);
            }
    }
}

#undef JT_LOW_MASK
#undef JT_HIGH_MASK
#undef JT_EVEN_MASK
#undef JT_ODD_MASK
#undef JT_BACKWARDS_MASK
#undef JT_SHUFFLE
#undef LOW
#undef HIGH
#undef EVEN
#undef ODD
