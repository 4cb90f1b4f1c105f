/* Products of matrices of narrow numbers by instructions that add several products at once: 8-bit
   integers with sums of 32 bits, bfloat16 with sums of float32. There are two sets of them on x86:

     AMX, the tile registers (Intel, "Architecture Instruction Set Extensions", chapter 3)
     AVX-512 VNNI and BF16, dot products of the elements of vectors: see `multiply_dots.h`

   Three functions of the form of a kernel, `int32_t f(void *call, void **slots, int64_t begin, int64_t
   end)`, which cannot fail, so that the call is nothing to them:

     rows      [batch, m, k] in blocks of 16 rows by 64 bytes, as AMX loads the first operand
     columns   [batch, k, n] in blocks of 64 bytes by 16 columns, as the second one is: each row of a
               block holds, of 16 columns, the 4 bytes that are next to each other in k
     product   [batch, m, n] of both

   Zeros fill the last blocks. A product with AMX works on two by two blocks of the result in four
   registers, so that each block that is loaded is used twice. An item of work is two blocks of rows by
   some blocks of columns, which the second cache holds while all rows pass. */

#ifndef JITNEY_MULTIPLY_H
#define JITNEY_MULTIPLY_H

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && \
    ((defined(__clang__) && __clang_major__ >= 12) || (!defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 11))
#define JT_BLOCKS 1
#ifdef __linux__
#define JT_TILES 1
#endif
#endif

/* What all three are told, as int64s in this order: `compiler/tile_products.py` writes them. */
typedef struct {
    int64_t m, n, k; /* of one product */
    int64_t size;    /* bytes of an element */
    int64_t kind;    /* of `product`: see `multiply_add` */
    int64_t columns; /* blocks of columns of an item: an even number */
} jt_product;

enum {
    JT_BLOCK = 16,               /* rows of a block, and columns of one of sums */
    JT_ROW = 64,                 /* bytes of a row */
    JT_TILE = JT_BLOCK * JT_ROW, /* bytes of a block */
};

static inline int64_t jt_blocks(int64_t n, int64_t size) { return (n + size - 1) / size; }

/* The sets of instructions, as bits. */
enum { JT_SET_DOTS = 1, JT_SET_TILES = 2 };

#ifdef JT_BLOCKS

#include "multiply_dots.h"

/* --- blocks ------------------------------------------------------------------------------------- */

static int32_t jt_pack_rows(void *call, void **slots, int64_t begin, int64_t end) {
    (void)call;
    const jt_product *p = (const jt_product *)slots[0];
    const char *x = (const char *)slots[1];
    char *out = (char *)slots[2];
    int64_t row = p->k * p->size, deep = jt_blocks(row, JT_ROW), blocks = jt_blocks(p->m, JT_BLOCK);
    for (int64_t item = begin; item < end; item++) {
        int64_t first = item % blocks * JT_BLOCK;
        const char *from = x + (item / blocks * p->m + first) * row;
        int64_t rows = p->m - first < JT_BLOCK ? p->m - first : JT_BLOCK;
        char *to = out + item * deep * JT_TILE;
        for (int64_t d = 0; d < deep; d++, to += JT_TILE) {
            int64_t width = row - d * JT_ROW < JT_ROW ? row - d * JT_ROW : JT_ROW;
            if (rows < JT_BLOCK || width < JT_ROW) memset(to, 0, JT_TILE);
            if (width == JT_ROW)
                for (int64_t r = 0; r < rows; r++) memcpy(to + r * JT_ROW, from + r * row + d * JT_ROW, JT_ROW);
            else
                for (int64_t r = 0; r < rows; r++) memcpy(to + r * JT_ROW, from + r * row + d * JT_ROW, (size_t)width);
        }
    }
    return 1;
}

static inline __m128i jt_load(const char *p) { return _mm_loadu_si128((const __m128i *)p); }
static inline void jt_store(char *p, __m128i v) { _mm_storeu_si128((__m128i *)p, v); }

/* 16 columns of 4 rows of bytes, `step` bytes apart, column by column. */
static inline void jt_weave_bytes(char *to, const char *from, int64_t step) {
    __m128i a = jt_load(from), b = jt_load(from + step);
    __m128i c = jt_load(from + 2 * step), d = jt_load(from + 3 * step);
    __m128i ab = _mm_unpacklo_epi8(a, b), cd = _mm_unpacklo_epi8(c, d);
    jt_store(to, _mm_unpacklo_epi16(ab, cd));
    jt_store(to + 16, _mm_unpackhi_epi16(ab, cd));
    ab = _mm_unpackhi_epi8(a, b), cd = _mm_unpackhi_epi8(c, d);
    jt_store(to + 32, _mm_unpacklo_epi16(ab, cd));
    jt_store(to + 48, _mm_unpackhi_epi16(ab, cd));
}

/* The same of 2 rows of 16-bit numbers. */
static inline void jt_weave_pairs(char *to, const char *from, int64_t step) {
    for (int half = 0; half < 2; half++, to += 32, from += 16) {
        __m128i a = jt_load(from), b = jt_load(from + step);
        jt_store(to, _mm_unpacklo_epi16(a, b));
        jt_store(to + 16, _mm_unpackhi_epi16(a, b));
    }
}

static int32_t jt_pack_columns(void *call, void **slots, int64_t begin, int64_t end) {
    (void)call;
    const jt_product *p = (const jt_product *)slots[0];
    const char *y = (const char *)slots[1];
    char *out = (char *)slots[2];
    int64_t size = p->size, together = 4 / size, line = p->n * size, wide = JT_BLOCK * size;
    int64_t deep = jt_blocks(p->k * size, JT_ROW), blocks = jt_blocks(p->n, JT_BLOCK);
    char edge[4 * JT_BLOCK];
    for (int64_t item = begin; item < end; item++) {
        int64_t first = item % blocks * JT_BLOCK;
        int64_t width = p->n - first < JT_BLOCK ? (p->n - first) * size : wide;
        const char *from = y + item / blocks * p->k * line + first * size;
        char *to = out + item * deep * JT_TILE;
        for (int64_t k = 0; k < deep * JT_BLOCK * together; k += together, to += JT_ROW) {
            const char *rows = from + k * line;
            int64_t step = line, known = p->k - k < together ? p->k - k : together;
            if (width < wide || known < together) {
                memset(edge, 0, sizeof edge);
                for (int64_t r = 0; r < known; r++) memcpy(edge + r * wide, rows + r * line, (size_t)width);
                rows = edge, step = wide;
            }
            if (size == 1)
                jt_weave_bytes(to, rows, step);
            else
                jt_weave_pairs(to, rows, step);
        }
    }
    return 1;
}

/* --- products in tile registers ------------------------------------------------------------------ */

#ifdef JT_TILES

#include <sys/syscall.h>
#include <unistd.h>

#define JT_AMX __attribute__((target("amx-tile,amx-int8,amx-bf16")))

typedef struct {
    uint8_t palette, start, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} jt_tile_config;

/* Two by two blocks of the result: registers 0 to 3; 4 and 5 hold blocks of rows, 6 and 7 of columns.
   The signedness of bytes is that of x, then of y. */
#define JT_MULTIPLY(name, multiply)                                                                  \
    JT_AMX static void name(const char *a0, const char *a1, const char *b0, const char *b1,          \
                            int64_t deep) {                                                          \
        _tile_zero(0);                                                                               \
        _tile_zero(1);                                                                               \
        _tile_zero(2);                                                                               \
        _tile_zero(3);                                                                               \
        for (int64_t d = 0; d < deep * JT_TILE; d += JT_TILE) {                                      \
            _tile_loadd(4, a0 + d, JT_ROW);                                                          \
            _tile_loadd(6, b0 + d, JT_ROW);                                                          \
            multiply(0, 4, 6);                                                                       \
            _tile_loadd(7, b1 + d, JT_ROW);                                                          \
            multiply(1, 4, 7);                                                                       \
            _tile_loadd(5, a1 + d, JT_ROW);                                                          \
            multiply(2, 5, 6);                                                                       \
            multiply(3, 5, 7);                                                                       \
        }                                                                                            \
    }

JT_MULTIPLY(jt_multiply_ss, _tile_dpbssd)
JT_MULTIPLY(jt_multiply_su, _tile_dpbsud)
JT_MULTIPLY(jt_multiply_us, _tile_dpbusd)
JT_MULTIPLY(jt_multiply_uu, _tile_dpbuud)
JT_MULTIPLY(jt_multiply_bf16, _tile_dpbf16ps)

/* Stores register `tile` at row i and column j of the result, as much of it as there is. */
#define JT_STORE_TILE(tile, i, j)                                                                    \
    do {                                                                                             \
        int64_t rows = p->m - (i), width = p->n - (j);                                               \
        if (rows >= JT_BLOCK && width >= JT_BLOCK) {                                                 \
            _tile_stored(tile, to + (i)*p->n + (j), p->n * 4);                                       \
        } else if (rows > 0 && width > 0) {                                                          \
            _tile_stored(tile, edge, JT_ROW);                                                        \
            if (rows > JT_BLOCK) rows = JT_BLOCK;                                                    \
            if (width > JT_BLOCK) width = JT_BLOCK;                                                  \
            for (int64_t r = 0; r < rows; r++)                                                       \
                memcpy(to + ((i) + r) * p->n + (j), edge + r * JT_BLOCK, (size_t)width * 4);         \
        }                                                                                            \
    } while (0)

JT_AMX static int32_t jt_multiply_tiles(void *call, void **slots, int64_t begin, int64_t end) {
    (void)call;
    static void (*const multiply_add[])(const char *, const char *, const char *, const char *, int64_t) = {
        jt_multiply_ss, jt_multiply_su, jt_multiply_us, jt_multiply_uu, jt_multiply_bf16,
    };
    const jt_product *p = (const jt_product *)slots[0];
    const char *x = (const char *)slots[1], *y = (const char *)slots[2];
    int32_t *out = (int32_t *)slots[3], edge[JT_BLOCK * JT_BLOCK];
    int64_t deep = jt_blocks(p->k * p->size, JT_ROW);
    int64_t down = jt_blocks(p->m, JT_BLOCK), across = jt_blocks(p->n, JT_BLOCK);
    int64_t pairs = jt_blocks(down, 2), parts = jt_blocks(across, p->columns);
    jt_tile_config config;
    memset(&config, 0, sizeof config);
    config.palette = 1;
    for (int i = 0; i < 8; i++) config.row_bytes[i] = JT_ROW, config.rows[i] = JT_BLOCK;
    _tile_loadconfig(&config);
    for (int64_t item = begin; item < end; item++) {
        int64_t i = item % pairs * 2, part = item / pairs % parts, which = item / pairs / parts;
        int64_t last = (part + 1) * p->columns < across ? (part + 1) * p->columns : across;
        const char *a0 = x + (which * down + i) * deep * JT_TILE;
        const char *a1 = i + 1 < down ? a0 + deep * JT_TILE : a0; /* no such rows: not stored */
        int32_t *to = out + which * p->m * p->n;
        for (int64_t j = part * p->columns; j < last; j += 2) {
            const char *b0 = y + (which * across + j) * deep * JT_TILE;
            const char *b1 = j + 1 < across ? b0 + deep * JT_TILE : b0;
            multiply_add[p->kind](a0, a1, b0, b1, deep);
            JT_STORE_TILE(0, i * JT_BLOCK, j * JT_BLOCK);
            JT_STORE_TILE(1, i * JT_BLOCK, (j + 1) * JT_BLOCK);
            JT_STORE_TILE(2, (i + 1) * JT_BLOCK, j * JT_BLOCK);
            JT_STORE_TILE(3, (i + 1) * JT_BLOCK, (j + 1) * JT_BLOCK);
        }
    }
    _tile_release();
    return 1;
}

/* Whether the processor has the registers, and the system lets this process use them. */
static int jt_has_tiles(void) {
    enum { REQUEST = 0x1023, TILE_DATA = 18 }; /* of arch_prctl; the state that is asked for */
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    if (!(d >> 22 & d >> 24 & d >> 25 & 1)) return 0; /* bfloat16, registers, 8-bit integers */
    return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}

#endif
#endif

/* The sets of instructions that can be used for elements of `size` bytes, as bits. */
static int jt_product_sets(int size) {
    int sets = 0;
    (void)size;
#ifdef JT_BLOCKS
    static int dots[3] = {-1, -1, -1}; /* a virtual machine emulates CPUID, which takes microseconds */
    if (dots[size] < 0) dots[size] = jt_has_dots(size);
    if (dots[size]) sets |= JT_SET_DOTS;
#endif
#ifdef JT_TILES
    static _Atomic int tiles = -1; /* asked once */
    if (tiles < 0) tiles = jt_has_tiles();
    if (tiles) sets |= JT_SET_TILES;
#endif
    return sets;
}

/* Address of `rows` (0), `columns` (1) or `product` (2), the latter by one set; null if there is none. */
static void *jt_block_function(int which, int set) {
#ifdef JT_BLOCKS
    if (which == 0) return (void *)jt_pack_rows;
    if (which == 1) return (void *)jt_pack_columns;
    if (set == JT_SET_DOTS) return (void *)jt_multiply_dots;
#endif
#ifdef JT_TILES
    if (set == JT_SET_TILES) return (void *)jt_multiply_tiles;
#endif
    (void)which, (void)set;
    return 0;
}

#endif
