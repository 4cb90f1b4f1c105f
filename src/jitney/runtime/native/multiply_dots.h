/* Products of blocks of narrow numbers (`multiply.h`) by the dot products of AVX-512: VNNI of bytes,
   BF16.

   The sums of 8 rows by 32 columns are in 16 registers. For each 4 bytes along k, two registers of
   columns are loaded, and the bytes of each row are loaded into all lanes of another one: ten loads for
   sixteen dot products, so that these take all the time.

   The instruction for bytes takes unsigned ones by signed ones. Where both operands have the same
   signedness, the highest bit of the columns' bytes is flipped, which adds 128 to signed ones and
   subtracts it from unsigned ones; the sums begin with the opposite of what that adds, 128 times the
   sum of the row. All this is exact modulo 2**32. */

#ifndef JITNEY_MULTIPLY_DOTS_H
#define JITNEY_MULTIPLY_DOTS_H

#include <immintrin.h>

#include "instructions.h"

/* Clang drops all of a target that it knows not: see `JT_AVX512`. */
#define JT_DOT_FEATURES "avx512f,avx512dq,avx512vl,avx512bw,avx512vnni,avx512bf16"
#ifdef __clang__
#define JT_DOT __attribute__((target(JT_DOT_FEATURES), min_vector_width(512)))
#else
#define JT_DOT __attribute__((target(JT_DOT_FEATURES ",prefer-vector-width=512")))
#endif

enum { JT_DOT_ROWS = 8 };

/* Multiplies 8 rows, from `a` on, by the columns of two blocks, `b0` and `b1`, and stores the sums that
   `rows` and the masks select; the rows of the result are `width` apart. Sums of row r begin as
   `first[r]`. */
typedef void (*jt_dots)(const char *a, const char *b0, const char *b1, int64_t deep,
                        const int32_t *first, int32_t *to, int64_t width, int64_t rows,
                        __mmask16 mask0, __mmask16 mask1);

#define JT_EACH_ROW(do) do(0) do(1) do(2) do(3) do(4) do(5) do(6) do(7)
#define JT_START_ROW(r) __m512i s##r = _mm512_set1_epi32(first[r]), t##r = s##r;
#define JT_ADD_ROW(r)                                                                                \
    x = _mm512_set1_epi32(*(const jt_four *)(a + (r)*JT_ROW));                                       \
    JT_ADD(s##r, x, y0);                                                                             \
    JT_ADD(t##r, x, y1);
#define JT_STORE_ROW(r)                                                                              \
    if ((r) < rows) {                                                                                \
        _mm512_mask_storeu_epi32(to + (r)*width, mask0, s##r);                                       \
        _mm512_mask_storeu_epi32(to + (r)*width + JT_BLOCK, mask1, t##r);                            \
    }

typedef int32_t __attribute__((may_alias)) jt_four; /* bytes of a row */

/* `load` makes a register of columns from memory. */
#define JT_DOTS(name, load)                                                                          \
    JT_DOT static void name(const char *a, const char *b0, const char *b1, int64_t deep,             \
                            const int32_t *first, int32_t *to, int64_t width, int64_t rows,          \
                            __mmask16 mask0, __mmask16 mask1) {                                      \
        const __m512i high = _mm512_set1_epi8((char)0x80);                                           \
        __m512i x, y0, y1;                                                                           \
        (void)high;                                                                                  \
        JT_EACH_ROW(JT_START_ROW)                                                                    \
        for (int64_t d = 0; d < deep; d++, a += JT_TILE - JT_ROW) {                                  \
            for (int64_t i = 0; i < JT_BLOCK; i++, a += 4, b0 += JT_ROW, b1 += JT_ROW) {             \
                y0 = load(_mm512_loadu_si512(b0));                                                   \
                y1 = load(_mm512_loadu_si512(b1));                                                   \
                JT_EACH_ROW(JT_ADD_ROW)                                                              \
            }                                                                                        \
        }                                                                                            \
        JT_EACH_ROW(JT_STORE_ROW)                                                                    \
    }

#define JT_AS_IT_IS(y) (y)
#define JT_FLIPPED(y) _mm512_xor_si512(y, high)

/* Written as assembly: GCC 12 copies all sums in each iteration if it is told by intrinsics. */
#define JT_DOT_ADD(instruction, sum, x, y)                                                           \
    __asm__(instruction " %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y))
#define JT_ADD(sum, x, y) JT_DOT_ADD("vpdpbusd", sum, y, x) /* the columns are unsigned */
JT_DOTS(jt_dots_ss, JT_FLIPPED)
JT_DOTS(jt_dots_su, JT_AS_IT_IS)
#undef JT_ADD
#define JT_ADD(sum, x, y) JT_DOT_ADD("vpdpbusd", sum, x, y) /* the rows are */
JT_DOTS(jt_dots_us, JT_AS_IT_IS)
JT_DOTS(jt_dots_uu, JT_FLIPPED)
#undef JT_ADD
#define JT_ADD(sum, x, y) JT_DOT_ADD("vdpbf16ps", sum, x, y)
JT_DOTS(jt_dots_bf16, JT_AS_IT_IS)
#undef JT_ADD

/* What the sums of a block's rows begin with: the opposite of what flipping the columns adds. */
JT_DOT static void jt_first_sums(const char *a, int64_t deep, int64_t kind, int32_t *first) {
    const __m512i ones = _mm512_set1_epi8(1);
    memset(first, 0, JT_BLOCK * sizeof *first);
    if (kind != 0 && kind != 3) return;
    for (int64_t r = 0; r < JT_BLOCK; r++, a += JT_ROW) {
        __m512i sum = _mm512_setzero_si512();
        for (int64_t d = 0; d < deep * JT_TILE; d += JT_TILE) {
            __m512i x = _mm512_loadu_si512(a + d);
            sum = kind == 0 ? _mm512_dpbusd_epi32(sum, ones, x) : _mm512_dpbusd_epi32(sum, x, ones);
        }
        int64_t total = _mm512_reduce_add_epi32(sum);
        first[r] = (int32_t)(uint32_t)(kind == 0 ? -128 * total : 128 * total);
    }
}

JT_DOT static int32_t jt_multiply_dots(void *call, void **slots, int64_t begin, int64_t end) {
    (void)call;
    static const jt_dots multiply_add[] = {
        jt_dots_ss, jt_dots_su, jt_dots_us, jt_dots_uu, jt_dots_bf16,
    };
    const jt_product *p = (const jt_product *)slots[0];
    const char *x = (const char *)slots[1], *y = (const char *)slots[2];
    int32_t *out = (int32_t *)slots[3], first[2 * JT_BLOCK];
    int64_t deep = jt_blocks(p->k * p->size, JT_ROW);
    int64_t down = jt_blocks(p->m, JT_BLOCK), across = jt_blocks(p->n, JT_BLOCK);
    int64_t pairs = jt_blocks(down, 2), parts = jt_blocks(across, p->columns);
    for (int64_t item = begin; item < end; item++) {
        int64_t i = item % pairs * 2, part = item / pairs % parts, which = item / pairs / parts;
        int64_t last = (part + 1) * p->columns < across ? (part + 1) * p->columns : across;
        int64_t rows = p->m - i * JT_BLOCK < 2 * JT_BLOCK ? p->m - i * JT_BLOCK : 2 * JT_BLOCK;
        const char *a = x + (which * down + i) * deep * JT_TILE;
        int32_t *to = out + (which * p->m + i * JT_BLOCK) * p->n;
        for (int64_t r = 0; r < rows; r += JT_BLOCK)
            jt_first_sums(a + r / JT_BLOCK * deep * JT_TILE, deep, p->kind, first + r);
        for (int64_t j = part * p->columns; j < last; j += 2) {
            const char *b0 = y + (which * across + j) * deep * JT_TILE;
            const char *b1 = j + 1 < across ? b0 + deep * JT_TILE : b0; /* none: not stored */
            int64_t width = p->n - j * JT_BLOCK;
            uint32_t mask = width < 2 * JT_BLOCK ? (1u << width) - 1 : ~0u;
            for (int64_t r = 0; r < rows; r += JT_DOT_ROWS)
                multiply_add[p->kind](a + r / JT_BLOCK * deep * JT_TILE + r % JT_BLOCK * JT_ROW, b0, b1,
                                      deep, first + r, to + r * p->n + j * JT_BLOCK, p->n, rows - r,
                                      (__mmask16)mask, (__mmask16)(mask >> JT_BLOCK));
        }
    }
    return 1;
}

/* Whether the processor has the dot products of elements of `size` bytes. */
static int jt_has_dots(int size) {
    enum { VNNI = 1 << 11, BF16 = 1 << 5 };
    unsigned a, b, c, d;
    if (jt_instructions() < 2 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    if (size == 1) return (c & VNNI) != 0;
    return a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & BF16);
}

#endif
