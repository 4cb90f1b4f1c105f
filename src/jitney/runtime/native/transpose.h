// Transposition of blocks: what kernels lay out on their stack before they read columns of an array.
//
// `source` has `rows` rows of `columns` elements, `source_step` bytes apart; element (r, c) of it goes to
// (c, r) of `target`, whose rows are `target_step` bytes apart. Either step may be negative.
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

typedef struct { uint64_t part[2]; } jt_two_words;

// Transposes a part of the block, element by element.
#define JT_TRANSPOSE_REST(TYPE, R, C, R_END, C_END)                                                \
    for (int64_t r = (R); r < (R_END); r++)                                                        \
        for (int64_t c = (C); c < (C_END); c++)                                                    \
            memcpy(target + c * target_step + r * (int64_t)sizeof(TYPE),                           \
                   source + r * source_step + c * (int64_t)sizeof(TYPE), sizeof(TYPE));

#define JT_PREFETCH_STEP 64  // bytes of a cache line

// The rows that the next block has, if blocks follow each other down the columns: its rows are too short
// for the processor to see where reading goes on.
static inline void jt_prefetch_rows(const char *row, int64_t step, int64_t rows, int64_t bytes) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t at = 0; at < bytes; at += JT_PREFETCH_STEP)
            __builtin_prefetch(row + r * step + at);
}

// Transposes squares of SIDE x SIDE elements by `SQUARE`, then the remaining rows and columns.
#define JT_TRANSPOSE(NAME, TYPE, SIDE, SQUARE)                                                     \
    static void NAME(char *target, int64_t target_step, const char *source, int64_t source_step,   \
                     int64_t rows, int64_t columns) {                                              \
        int64_t r_end = rows - rows % (SIDE), c_end = columns - columns % (SIDE);                  \
        for (int64_t r = 0; r < r_end; r += (SIDE)) {                                              \
            jt_prefetch_rows(source + (rows + r) * source_step, source_step, (SIDE),               \
                             columns * (int64_t)sizeof(TYPE));                                     \
            for (int64_t c = 0; c < c_end; c += (SIDE))                                            \
                SQUARE(target + c * target_step + r * (int64_t)sizeof(TYPE), target_step,          \
                       source + r * source_step + c * (int64_t)sizeof(TYPE), source_step);         \
        }                                                                                          \
        JT_TRANSPOSE_REST(TYPE, 0, c_end, r_end, columns)                                          \
        JT_TRANSPOSE_REST(TYPE, r_end, 0, rows, columns)                                           \
    }

#ifdef __SSE2__

#define JT_ROW(K) _mm_loadu_si128((const __m128i *)(source + (K) * source_step))
#define JT_COLUMN(K, VALUE) _mm_storeu_si128((__m128i *)(target + (K) * target_step), VALUE)

// Row k and row k + n / 2 become rows 2 k and 2 k + 1, their elements in turns. After log2(n) such stages n
// rows have become columns.
#define JT_STAGE(N, LOW, HIGH, FROM, TO)                                                           \
    for (int k = 0; k < (N) / 2; k++) {                                                            \
        TO[2 * k] = LOW(FROM[k], FROM[k + (N) / 2]);                                               \
        TO[2 * k + 1] = HIGH(FROM[k], FROM[k + (N) / 2]);                                          \
    }

static inline void jt_square_8(char *target, int64_t target_step, const char *source,
                               int64_t source_step) {
    __m128i a[16], b[16];
    for (int k = 0; k < 16; k++)
        a[k] = JT_ROW(k);
    JT_STAGE(16, _mm_unpacklo_epi8, _mm_unpackhi_epi8, a, b)
    JT_STAGE(16, _mm_unpacklo_epi8, _mm_unpackhi_epi8, b, a)
    JT_STAGE(16, _mm_unpacklo_epi8, _mm_unpackhi_epi8, a, b)
    JT_STAGE(16, _mm_unpacklo_epi8, _mm_unpackhi_epi8, b, a)
    for (int k = 0; k < 16; k++)
        JT_COLUMN(k, a[k]);
}

static inline void jt_square_16(char *target, int64_t target_step, const char *source,
                                int64_t source_step) {
    __m128i a[8], b[8];
    for (int k = 0; k < 8; k++)
        a[k] = JT_ROW(k);
    JT_STAGE(8, _mm_unpacklo_epi16, _mm_unpackhi_epi16, a, b)
    JT_STAGE(8, _mm_unpacklo_epi16, _mm_unpackhi_epi16, b, a)
    JT_STAGE(8, _mm_unpacklo_epi16, _mm_unpackhi_epi16, a, b)
    for (int k = 0; k < 8; k++)
        JT_COLUMN(k, b[k]);
}

static inline void jt_square_32(char *target, int64_t target_step, const char *source,
                                int64_t source_step) {
    __m128i a[4], b[4];
    for (int k = 0; k < 4; k++)
        a[k] = JT_ROW(k);
    JT_STAGE(4, _mm_unpacklo_epi32, _mm_unpackhi_epi32, a, b)
    JT_STAGE(4, _mm_unpacklo_epi32, _mm_unpackhi_epi32, b, a)
    for (int k = 0; k < 4; k++)
        JT_COLUMN(k, a[k]);
}

static inline void jt_square_64(char *target, int64_t target_step, const char *source,
                                int64_t source_step) {
    __m128i first = JT_ROW(0), second = JT_ROW(1);
    JT_COLUMN(0, _mm_unpacklo_epi64(first, second));
    JT_COLUMN(1, _mm_unpackhi_epi64(first, second));
}

JT_TRANSPOSE(jt_transpose_8, uint8_t, 16, jt_square_8)
JT_TRANSPOSE(jt_transpose_16, uint16_t, 8, jt_square_16)
JT_TRANSPOSE(jt_transpose_32, uint32_t, 4, jt_square_32)
JT_TRANSPOSE(jt_transpose_64, uint64_t, 2, jt_square_64)

#else

#define JT_SQUARE_OF_ONE(TYPE, NAME)                                                               \
    static inline void NAME(char *target, int64_t target_step, const char *source,                 \
                            int64_t source_step) {                                                 \
        (void)target_step, (void)source_step;                                                      \
        memcpy(target, source, sizeof(TYPE));                                                      \
    }

JT_SQUARE_OF_ONE(uint8_t, jt_square_8)
JT_SQUARE_OF_ONE(uint16_t, jt_square_16)
JT_SQUARE_OF_ONE(uint32_t, jt_square_32)
JT_SQUARE_OF_ONE(uint64_t, jt_square_64)
JT_TRANSPOSE(jt_transpose_8, uint8_t, 1, jt_square_8)
JT_TRANSPOSE(jt_transpose_16, uint16_t, 1, jt_square_16)
JT_TRANSPOSE(jt_transpose_32, uint32_t, 1, jt_square_32)
JT_TRANSPOSE(jt_transpose_64, uint64_t, 1, jt_square_64)

#endif

static inline void jt_square_128(char *target, int64_t target_step, const char *source,
                                 int64_t source_step) {
    (void)target_step, (void)source_step;
    memcpy(target, source, sizeof(jt_two_words));
}

JT_TRANSPOSE(jt_transpose_128, jt_two_words, 1, jt_square_128)
