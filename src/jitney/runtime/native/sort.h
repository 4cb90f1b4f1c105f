/* Sorts of rows by several keys, and the largest elements of rows, for any type of elements.

   Two functions of the form of a kernel, `int32_t f(void *call, void **slots, int64_t begin, int64_t
   end)`, for arrays whose rows are sorted:

     sort    operands x, y, z ... of one shape, all in the order of the first `keys` of them; stable
     top_k   the k largest of each row, descending, and their indices; of equals, lower ones

   Keys become words, unsigned numbers in their order, which are sorted by digits: of a radix sort no step
   depends on how keys lie. What goes along with the words is the other operand, where there is one that is
   narrow enough, else the position, by which operands are gathered in the end. Of several keys the last
   comes first (least significant first, again).

   To `sort` -0.0 equals 0.0, and all NaN are equal and last; to `top_k` floats are in the order of their
   bits. Complex numbers go by real part, then imaginary part. Rows are divided among threads, long rows
   are sorted by all of them; results do not depend on how many there are. */

#ifndef JITNEY_SORT_H
#define JITNEY_SORT_H

#include <stdint.h>
#include <string.h>

#include "threads.h"

enum {
    JT_DIGIT_BITS = 8,
    JT_DIGITS = 1 << JT_DIGIT_BITS,
    JT_MOST_DIGITS = 64 / JT_DIGIT_BITS,
    JT_SORT_PART = 1 << 15, /* elements that a thread moves at a time */
    JT_SORT_PARTS = 64,     /* the most parts of a row */
    JT_RUN = 16,            /* elements that are sorted by insertion */
    JT_MERGED = 160,        /* elements that are sorted by merging such runs */
    JT_ENOUGH_BITS = 32,    /* bits of a key by which few random numbers are equal */
    JT_MOVES = 8,           /* the most moves per element, on average, for a sort by insertion */
    JT_SORTED_OPERANDS = 64,
    JT_BLOCK = 64,          /* elements that are compared with the bound at a time */
};

/* The parameters of both functions, as int64s in this order, which `compiler/sorting.py` writes. */
typedef struct {
    int64_t rows, n;
    int64_t items;    /* the number of items of work into which the rows are divided */
    int64_t room;     /* bytes of workspace for an item */
    int64_t width;    /* bytes of the widest word with the value that is moved with it */
    int64_t operands;
    int64_t keys;     /* the number of operands that are keys, the most significant first */
    int64_t k;        /* the parameter k of `top_k` */
    int64_t types[JT_SORTED_OPERANDS]; /* numbers of JT_SORT_TYPES, or JT_SORT_c64, JT_SORT_c128 */
} jt_sorting;

typedef struct {
    uint64_t word, value;
} jt_pair;

static inline int64_t jt_parts(int64_t n) {
    int64_t parts = n / JT_SORT_PART;
    return parts < 1 ? 1 : parts > JT_SORT_PARTS ? JT_SORT_PARTS : parts;
}

static inline int64_t jt_part_begin(int64_t part, int64_t parts, int64_t n) { return part * n / parts; }

/* Runs a loop that threads share, or, if it has only one chunk, the calling thread alone. */
static int32_t jt_sort_loop(jt_call *call, jt_kernel kernel, void *data, int64_t n, int64_t grain) {
    return n <= grain ? kernel(call, data, 0, n) : jt_parallel_for(call, kernel, data, n, grain);
}

/* Returns the number of threads that may share a loop now. */
static int jt_sort_threads(jt_call *call) { return atomic_load(&call->pool->wanted); }

#define E uint32_t
#define KEY(e) (uint64_t)(e)
#define NAME(name) jt_words32_##name
#include "sort_digits_type.h"
#undef E
#undef NAME

#define E uint64_t
#define NAME(name) jt_words64_##name
#include "sort_digits_type.h"
#undef KEY
#undef NAME

#define KEY(e) ((e) >> 32)
#define NAME(name) jt_above_##name
#include "sort_digits_type.h"
#undef E
#undef KEY
#undef NAME

#define E jt_pair
#define KEY(e) (e).word
#define NAME(name) jt_pairs_##name
#include "sort_digits_type.h"
#undef E
#undef KEY
#undef NAME

/* --- keys as words ------------------------------------------------------------------------------- */

enum { JT_UNSIGNED, JT_SIGNED, JT_FLOAT };

/* (name, bits of an element, word, kind, bits of infinity), numbered in this order */
#define JT_SORT_TYPES(X)                                                                           \
    X(u8, uint8_t, uint32_t, JT_UNSIGNED, 0)                                                       \
    X(i8, uint8_t, uint32_t, JT_SIGNED, 0)                                                         \
    X(u16, uint16_t, uint32_t, JT_UNSIGNED, 0)                                                     \
    X(i16, uint16_t, uint32_t, JT_SIGNED, 0)                                                       \
    X(u32, uint32_t, uint32_t, JT_UNSIGNED, 0)                                                     \
    X(i32, uint32_t, uint32_t, JT_SIGNED, 0)                                                       \
    X(u64, uint64_t, uint64_t, JT_UNSIGNED, 0)                                                     \
    X(i64, uint64_t, uint64_t, JT_SIGNED, 0)                                                       \
    X(f16, uint16_t, uint32_t, JT_FLOAT, 0x7c00)                                                   \
    X(bf16, uint16_t, uint32_t, JT_FLOAT, 0x7f80)                                                  \
    X(f32, uint32_t, uint32_t, JT_FLOAT, 0x7f800000)                                               \
    X(f64, uint64_t, uint64_t, JT_FLOAT, UINT64_C(0x7ff0000000000000))

enum {
#define X(name, S, W, kind, infinity) JT_SORT_##name,
    JT_SORT_TYPES(X)
#undef X
    JT_SORT_c64,
    JT_SORT_c128,
};

static const int jt_sort_sizes[] = {
#define X(name, S, W, kind, infinity) sizeof(S),
    JT_SORT_TYPES(X)
#undef X
    8, 16,
};

/* The layout of words: alone, above a value of 32 bits that is moved with them, or beside one of 64
   bits. */
enum { JT_ALONE, JT_ABOVE, JT_BESIDE };

/* Numbers along a row: an operand, or the real or the imaginary parts of one. */
typedef struct {
    const char *data;
    int64_t step; /* in bytes */
    int type;
} jt_key;

typedef struct {
    jt_key key;
    const uint32_t *order; /* the order in which keys are read, or NULL */
    const char *along;     /* the values that are moved with the words; NULL for the positions */
    int along_size;
    int by_bits; /* whether zeros of different sign, and different NaNs, are different */
    int stored;  /* the layout, such as JT_ALONE */
    char *words;
    atomic_int equals; /* set if different elements have equal words */
} jt_filling;

/* Writes the values that are moved with the elements begin .. end - 1. */
static void jt_fill_along(const jt_filling *f, int64_t begin, int64_t end) {
    uint64_t *above = (uint64_t *)f->words;
    jt_pair *beside = (jt_pair *)f->words;
#define JT_ALONG(number)                                                                           \
    if (f->stored == JT_ABOVE)                                                                     \
        for (int64_t i = begin; i < end; i++) above[i] = (number);                                 \
    else                                                                                           \
        for (int64_t i = begin; i < end; i++) beside[i].value = (number);
    if (f->order) {
        JT_ALONG(f->order[i])
    } else if (!f->along) {
        JT_ALONG((uint64_t)i)
    } else
        switch (f->along_size) {
        case 1: JT_ALONG(((const uint8_t *)f->along)[i]) break;
        case 2: JT_ALONG(((const uint16_t *)f->along)[i]) break;
        case 4: JT_ALONG(((const uint32_t *)f->along)[i]) break;
        case 8: JT_ALONG(((const uint64_t *)f->along)[i]) break;
        }
#undef JT_ALONG
}

/* For each type: the word of an element, and the element of a word; a range of elements as words; a range
   of words as elements; and equal elements that differ, in the order of the operand. */
#define X(name, S, W, kind, infinity)                                                              \
    static inline W jt_word_##name(S x, int by_bits) {                                             \
        const S sign = (S)((S)1 << (8 * sizeof(S) - 1));                                           \
        if (kind == JT_UNSIGNED) return x;                                                         \
        if (kind == JT_SIGNED) return (S)(x ^ sign);                                               \
        S size = (S)(x & (S)~sign), word = (S)(x & sign ? ~x : x | sign);                          \
        if (by_bits) return word;                                                                  \
        word = size == 0 ? sign : word;                                                            \
        return size > (S)(infinity) ? (S)~(S)0 : word;                                             \
    }                                                                                              \
    static inline S jt_element_##name(W word) {                                                    \
        const S sign = (S)((S)1 << (8 * sizeof(S) - 1)), x = (S)word;                              \
        if (kind == JT_UNSIGNED) return x;                                                         \
        if (kind == JT_SIGNED) return (S)(x ^ sign);                                               \
        return (S)(x & sign ? x ^ sign : ~x);                                                      \
    }                                                                                              \
    static int jt_fill_##name(const jt_filling *f, int64_t begin, int64_t end) {                   \
        const S sign = (S)((S)1 << (8 * sizeof(S) - 1));                                           \
        const char *data = f->key.data;                                                            \
        int64_t step = f->key.step;                                                                \
        int by_bits = f->by_bits;                                                                  \
        if (f->stored == JT_ALONE) {                                                               \
            W *words = (W *)f->words;                                                              \
            const S *x = (const S *)data;                                                          \
            W equals = 0;                                                                          \
            for (int64_t i = begin; i < end; i++) {                                                \
                words[i] = jt_word_##name(x[i], by_bits);                                          \
                equals |= x[i] == sign || words[i] == (W)(S)~(S)0;                                 \
            }                                                                                      \
            return kind == JT_FLOAT && equals;                                                     \
        }                                                                                          \
        int equals = 0;                                                                            \
        for (int64_t i = begin; i < end; i++) {                                                    \
            S x = *(const S *)(data + step * (f->order ? (int64_t)f->order[i] : i));               \
            W word = jt_word_##name(x, by_bits);                                                   \
            equals |= x == sign || word == (W)(S)~(S)0;                                            \
            if (f->stored == JT_ABOVE)                                                             \
                ((uint64_t *)f->words)[i] |= (uint64_t)word << 32;                                 \
            else                                                                                   \
                ((jt_pair *)f->words)[i].word = word;                                              \
        }                                                                                          \
        return kind == JT_FLOAT && equals;                                                         \
    }                                                                                              \
    static void jt_empty_##name(const char *words, int stored, char *out, int64_t begin,           \
                                int64_t end) {                                                     \
        S *y = (S *)out;                                                                           \
        for (int64_t i = begin; i < end; i++) {                                                    \
            W word = stored == JT_ALONE   ? ((const W *)words)[i]                                  \
                     : stored == JT_ABOVE ? (W)(((const uint64_t *)words)[i] >> 32)                \
                                          : (W)((const jt_pair *)words)[i].word;                   \
            y[i] = jt_element_##name(word);                                                        \
        }                                                                                          \
    }                                                                                              \
    static void jt_restore_##name(const char *data, char *out, int64_t n) {                        \
        const S *x = (const S *)data;                                                              \
        S *y = (S *)out;                                                                           \
        const W zero = jt_word_##name(0, 0), nan = (S)~(S)0;                                       \
        int64_t zeros = 0, nans = n;                                                               \
        for (int64_t i = 0; i < n; i++) {                                                          \
            W word = jt_word_##name(x[i], 0);                                                      \
            zeros += word < zero;                                                                  \
            nans -= word == nan;                                                                   \
        }                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                          \
            W word = jt_word_##name(x[i], 0);                                                      \
            if (word == zero) y[zeros++] = x[i];                                                   \
            if (word == nan) y[nans++] = x[i];                                                     \
        }                                                                                          \
    }
JT_SORT_TYPES(X)
#undef X

static int (*const jt_fills[])(const jt_filling *, int64_t, int64_t) = {
#define X(name, S, W, kind, infinity) jt_fill_##name,
    JT_SORT_TYPES(X)
#undef X
};
static void (*const jt_empties[])(const char *, int, char *, int64_t, int64_t) = {
#define X(name, S, W, kind, infinity) jt_empty_##name,
    JT_SORT_TYPES(X)
#undef X
};
static void (*const jt_restores[])(const char *, char *, int64_t) = {
#define X(name, S, W, kind, infinity) jt_restore_##name,
    JT_SORT_TYPES(X)
#undef X
};

static int32_t jt_fill_range(jt_call *call, void *data, int64_t begin, int64_t end) {
    jt_filling *f = data;
    (void)call;
    if (f->stored != JT_ALONE) jt_fill_along(f, begin, end);
    if (jt_fills[f->key.type](f, begin, end)) atomic_store(&f->equals, 1);
    return JT_SUCCEEDED;
}

/* --- results ------------------------------------------------------------------------------------- */

typedef struct {
    const char *words; /* the sorted words, with the values that were moved with them */
    int stored, type, along_size;
    char *key, *along; /* the results; `along` may be NULL */
} jt_emptying;

/* Writes elements begin .. end - 1 of the sorted key, and of the values that were moved with it. */
static int32_t jt_empty_range(jt_call *call, void *data, int64_t begin, int64_t end) {
    const jt_emptying *e = data;
    const uint64_t *above = (const uint64_t *)e->words;
    const jt_pair *beside = (const jt_pair *)e->words;
    (void)call;
    jt_empties[e->type](e->words, e->stored, e->key, begin, end);
#define JT_ALONG(T)                                                                                \
    if (e->stored == JT_ABOVE)                                                                     \
        for (int64_t i = begin; i < end; i++) ((T *)e->along)[i] = (T)above[i];                    \
    else                                                                                           \
        for (int64_t i = begin; i < end; i++) ((T *)e->along)[i] = (T)beside[i].value;
    if (e->along)
        switch (e->along_size) {
        case 1: JT_ALONG(uint8_t) break;
        case 2: JT_ALONG(uint16_t) break;
        case 4: JT_ALONG(uint32_t) break;
        case 8: JT_ALONG(uint64_t) break;
        }
#undef JT_ALONG
    return JT_SUCCEEDED;
}

typedef struct {
    const char *from;
    char *to;
    const uint32_t *order;
    int size;
} jt_gathering;

/* Sets to[i] = from[order[i]] for begin <= i < end. */
static int32_t jt_gather_range(jt_call *call, void *data, int64_t begin, int64_t end) {
    const jt_gathering *g = data;
    (void)call;
#define JT_GATHER(T)                                                                               \
    for (int64_t i = begin; i < end; i++) ((T *)g->to)[i] = ((const T *)g->from)[g->order[i]];
    switch (g->size) {
    case 1: JT_GATHER(uint8_t) break;
    case 2: JT_GATHER(uint16_t) break;
    case 4: JT_GATHER(uint32_t) break;
    case 8: JT_GATHER(uint64_t) break;
    case 16: JT_GATHER(jt_pair) break;
    }
#undef JT_GATHER
    return JT_SUCCEEDED;
}

/* --- rows ---------------------------------------------------------------------------------------- */

/* The workspace of an item: two rows of words, an order, and places of digits. */
typedef struct {
    char *words, *room;
    uint32_t *order;
    int64_t (*places)[JT_DIGITS];
} jt_sort_memory;

static inline int64_t jt_lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

static jt_sort_memory jt_sort_memory_at(char *at, int64_t n, int64_t width) {
    jt_sort_memory m;
    m.places = (int64_t (*)[JT_DIGITS])at;
    at += (jt_parts(n) < JT_MOST_DIGITS ? JT_MOST_DIGITS : jt_parts(n)) * sizeof *m.places;
    m.words = at;
    m.room = at += jt_lines(n * width);
    m.order = (uint32_t *)(at + jt_lines(n * width));
    return m;
}

static int32_t jt_sort_words(jt_call *call, jt_sort_memory *m, int stored, int is_wide, int64_t n) {
    char **words = &m->words, **room = &m->room;
    if (stored == JT_ABOVE)
        return jt_above_sort(call, (uint64_t **)words, (uint64_t **)room, n, m->places);
    if (stored == JT_BESIDE)
        return jt_pairs_sort(call, (jt_pair **)words, (jt_pair **)room, n, m->places);
    if (is_wide)
        return jt_words64_sort(call, (uint64_t **)words, (uint64_t **)room, n, m->places);
    return jt_words32_sort(call, (uint32_t **)words, (uint32_t **)room, n, m->places);
}

static int jt_is_wide(int type) { return jt_sort_sizes[type] == 8; }

/* Finds the keys by which rows are sorted, the most significant first; returns their number. */
static int jt_sort_keys(const jt_sorting *s, char **x, jt_key *keys) {
    int count = 0;
    for (int64_t i = 0; i < s->keys; i++) {
        int type = (int)s->types[i], size = jt_sort_sizes[type];
        if (type < JT_SORT_c64) {
            keys[count++] = (jt_key){x[i], size, type};
            continue;
        }
        int part = type == JT_SORT_c64 ? JT_SORT_f32 : JT_SORT_f64;
        keys[count++] = (jt_key){x[i], size, part};
        keys[count++] = (jt_key){x[i] + size / 2, size, part};
    }
    return count;
}

/* Sorts a row of one key, with at most one other operand, which is moved with the words. */
static int32_t jt_sort_row_by_words(jt_call *call, const jt_sorting *s, char **x, char **y,
                                    jt_sort_memory m) {
    int type = (int)s->types[0], is_wide = jt_is_wide(type);
    int size = s->operands == 2 ? jt_sort_sizes[s->types[1]] : 0;
    int stored = !size ? JT_ALONE : is_wide || size > 4 ? JT_BESIDE : JT_ABOVE;
    jt_filling f = {{x[0], jt_sort_sizes[type], type}, NULL, size ? x[1] : NULL, size, 0, stored,
                    m.words};
    if (jt_sort_loop(call, jt_fill_range, &f, s->n, JT_SORT_PART) != JT_SUCCEEDED) return 0;
    if (jt_sort_words(call, &m, stored, is_wide, s->n) != JT_SUCCEEDED) return 0;
    jt_emptying e = {m.words, stored, type, size, y[0], size ? y[1] : NULL};
    if (jt_sort_loop(call, jt_empty_range, &e, s->n, JT_SORT_PART) != JT_SUCCEEDED) return 0;
    if (atomic_load(&f.equals)) jt_restores[type](x[0], y[0], s->n);
    return JT_SUCCEEDED;
}

/* Sorts a row by any keys: computes the order, then gathers all operands in this order. */
static int32_t jt_sort_row_by_order(jt_call *call, const jt_sorting *s, char **x, char **y,
                                    jt_sort_memory m) {
    jt_key keys[2 * JT_SORTED_OPERANDS];
    int count = jt_sort_keys(s, x, keys);
    for (int k = count - 1; k >= 0; k--) {
        int is_wide = jt_is_wide(keys[k].type), stored = is_wide ? JT_BESIDE : JT_ABOVE;
        jt_filling f = {keys[k], k < count - 1 ? m.order : NULL, NULL, 4, 0, stored, m.words};
        if (jt_sort_loop(call, jt_fill_range, &f, s->n, JT_SORT_PART) != JT_SUCCEEDED) return 0;
        if (jt_sort_words(call, &m, stored, is_wide, s->n) != JT_SUCCEEDED) return 0;
        for (int64_t i = 0; i < s->n; i++)
            m.order[i] = stored == JT_ABOVE ? (uint32_t)((uint64_t *)m.words)[i]
                                            : (uint32_t)((jt_pair *)m.words)[i].value;
    }
    for (int64_t i = 0; i < s->operands; i++) {
        jt_gathering g = {x[i], y[i], m.order, jt_sort_sizes[s->types[i]]};
        if (jt_sort_loop(call, jt_gather_range, &g, s->n, JT_SORT_PART) != JT_SUCCEEDED) return 0;
    }
    return JT_SUCCEEDED;
}

/* slots: options, operands, results, workspace */
static int32_t jt_sort(jt_call *call, void *data, int64_t begin, int64_t end) {
    void **slots = data;
    const jt_sorting *s = slots[0];
    char **operands = (char **)slots + 1, **results = operands + s->operands;
    char *workspace = results[s->operands];
    int by_words = s->keys == 1 && s->types[0] < JT_SORT_c64 &&
                   (s->operands == 1 || (s->operands == 2 && jt_sort_sizes[s->types[1]] <= 8));
    for (int64_t item = begin; item < end; item++) {
        jt_sort_memory m = jt_sort_memory_at(workspace + item * s->room, s->n, s->width);
        int64_t stop = (item + 1) * s->rows / s->items;
        for (int64_t row = item * s->rows / s->items; row < stop; row++) {
            char *x[JT_SORTED_OPERANDS], *y[JT_SORTED_OPERANDS];
            for (int64_t i = 0; i < s->operands; i++) {
                int64_t at = row * s->n * jt_sort_sizes[s->types[i]];
                x[i] = operands[i] + at;
                y[i] = results[i] + at;
            }
            if ((by_words ? jt_sort_row_by_words : jt_sort_row_by_order)(call, s, x, y, m) !=
                JT_SUCCEEDED)
                return 0;
        }
    }
    return JT_SUCCEEDED;
}

/* --- the largest --------------------------------------------------------------------------------- */

/* Returns whether any word of a block is above the bound. */
static int jt_any_above(const uint64_t *block, int is_wide, int64_t count, uint64_t bound,
                        int has_bound) {
    const uint32_t *narrow = (const uint32_t *)block, narrow_bound = (uint32_t)bound;
    uint32_t any = !has_bound;
    if (is_wide)
        for (int64_t i = 0; i < count; i++) any |= block[i] > bound;
    else
        for (int64_t i = 0; i < count; i++) any |= narrow[i] > narrow_bound;
    return any != 0;
}

/* Finds the k largest elements of a row. The row is read block by block; elements that are not above
   the k-th largest so far are skipped. The others are kept as the complements of their words, so that
   the largest are first when they are sorted. When the memory is full, and at the end, the `kept`
   elements are sorted, and reduced to the first k. */
static int32_t jt_top_k_row(jt_call *call, const jt_sorting *s, const char *x, char *values,
                            int32_t *indices, int64_t capacity, jt_sort_memory m) {
    int type = (int)s->types[0], is_wide = jt_is_wide(type), size = jt_sort_sizes[type];
    uint64_t block[JT_BLOCK]; /* also used for 32-bit words */
    const uint32_t *narrow = (const uint32_t *)block;
    int64_t kept = 0;
    int has_bound = 0;
    uint64_t bound = 0; /* the k-th largest word so far */
    for (int64_t begin = 0; begin < s->n; begin += JT_BLOCK) {
        int64_t count = s->n - begin < JT_BLOCK ? s->n - begin : JT_BLOCK;
        jt_filling f = {{x + begin * size, size, type}, NULL, NULL, 0, 1, JT_ALONE, (char *)block};
        jt_fills[type](&f, 0, count);
        int is_last = begin + count == s->n;
        if (!jt_any_above(block, is_wide, count, bound, has_bound) && !is_last) continue;
        for (int64_t i = 0; i < count; i++) {
            uint64_t word = is_wide ? block[i] : narrow[i];
            if (has_bound && word <= bound) continue;
            if (is_wide)
                ((jt_pair *)m.words)[kept++] = (jt_pair){~word, (uint64_t)(begin + i)};
            else
                ((uint64_t *)m.words)[kept++] = (uint64_t)(uint32_t)~word << 32 | (uint64_t)(begin + i);
        }
        if (kept + JT_BLOCK <= capacity && !is_last) continue;
        if (jt_sort_words(call, &m, is_wide ? JT_BESIDE : JT_ABOVE, is_wide, kept) != JT_SUCCEEDED)
            return 0;
        if (kept >= s->k) {
            kept = s->k;
            bound = is_wide ? ~((jt_pair *)m.words)[kept - 1].word
                            : (uint32_t)~(((uint64_t *)m.words)[kept - 1] >> 32);
            has_bound = 1;
        }
    }
    for (int64_t i = 0; i < s->k; i++) {
        uint32_t at = is_wide ? (uint32_t)((jt_pair *)m.words)[i].value : (uint32_t)((uint64_t *)m.words)[i];
        memcpy(values + i * size, x + at * (int64_t)size, (size_t)size);
        indices[i] = (int32_t)at;
    }
    return JT_SUCCEEDED;
}

/* Returns the number of elements of a row that are kept at a time. */
static int64_t jt_top_k_capacity(const jt_sorting *s) {
    int64_t capacity = 4 * s->k + 2 * JT_BLOCK;
    return (capacity < s->n ? capacity : s->n) + JT_BLOCK;
}

/* slots: options, operand, values, indices, workspace */
static int32_t jt_top_k(jt_call *call, void *data, int64_t begin, int64_t end) {
    void **slots = data;
    const jt_sorting *s = slots[0];
    int64_t capacity = jt_top_k_capacity(s), size = jt_sort_sizes[s->types[0]];
    for (int64_t item = begin; item < end; item++) {
        jt_sort_memory m =
            jt_sort_memory_at((char *)slots[4] + item * s->room, capacity, s->width);
        int64_t stop = (item + 1) * s->rows / s->items;
        for (int64_t row = item * s->rows / s->items; row < stop; row++)
            if (jt_top_k_row(call, s, (char *)slots[1] + row * s->n * size,
                             (char *)slots[2] + row * s->k * size, (int32_t *)slots[3] + row * s->k,
                             capacity, m) != JT_SUCCEEDED)
                return 0;
    }
    return JT_SUCCEEDED;
}

/* The functions, in the order of their numbers in `compiler/sorting.py`. */
static void *const jt_sorts[] = {(void *)jt_sort, (void *)jt_top_k};

#endif
