/* Factorizations of our own, where LAPACK is slow: LU and Cholesky by blocks that call BLAS's products,
   and QR, eigenvalues and singular values of batches of small matrices in the elements of vectors.

   They are compiled for each set of instructions and for float32 and float64; `jt_own_of` chooses. */

#ifndef JITNEY_FACTORIZE_OWN_H
#define JITNEY_FACTORIZE_OWN_H

#include "call.h"
#include "instructions.h"
#include "pool.h"

/* Rows and columns of the largest matrices that are computed in lanes. */
enum { JT_LANE_ROWS = 16 };
/* Multiplications of a product from which threads divide it: some tens of microseconds. */
enum { JT_DIVIDED = 1 << 20 };
/* Columns of the blocks where recursion ends. */
enum { JT_BLOCK_COLUMNS = 16 };

/* A factorization that threads of a call work on. */
typedef struct {
    jt_call *call;
    int threads;
    int32_t status;
    void *room; /* of LU factors: JT_BLOCK_COLUMNS elements for each row, aligned as vectors are */
} jt_task;

/* The pool's loop, `jt_parallel_for` of `threads.h`: threads and their state are another module's. */
static int32_t (*jt_loop)(jt_call *call, jt_kernel kernel, void *slots, int64_t n, int64_t grain);

/* kernel(call, data, begin, end) over the items [0, n). */
static void jt_divide(jt_task *task, jt_kernel kernel, void *data, int64_t n) {
    if (task->status == JT_SUCCEEDED) task->status = jt_loop(task->call, kernel, data, n, 1);
}

/* The first part of n in two, a multiple of `width`. */
static int jt_half(int n, int width) { return (n / 2 + width - 1) / width * width; }

/* What there is for one type of elements. */
typedef struct {
    void (*lu)(jt_task *task, int m, int n, void *a, int lda, int32_t *pivots);
    int (*cholesky)(jt_task *task, int n, void *a, int lda);
    void (*eigh)(int n, int is_lower, int64_t number, const void *x, void *vectors, void *values);
    void (*qr)(int m, int n, int width, int64_t number, const void *x, void *q, void *r);
    void (*svd)(int m, int n, int width, int height, int64_t number, const void *x, void *values, void *u,
                void *vt);
} jt_own;

#define LANES ((int)(VECTOR / sizeof(T)))

#define ISA base
#define TARGET
#define VECTOR 16
#include "factorize_own_types.h"
#undef ISA
#undef TARGET
#undef VECTOR

#ifdef JT_X86
#define ISA avx2
#define TARGET __attribute__((target("avx2,fma")))
#define VECTOR 32
#include "factorize_own_types.h"
#undef ISA
#undef TARGET
#undef VECTOR

#define ISA avx512
#define TARGET JT_AVX512
#define VECTOR 64
#include "factorize_own_types.h"
#undef ISA
#undef TARGET
#undef VECTOR
#endif

#undef NAME
#undef LANES

/* Which instructions may be used: 0 those that every processor has, 1 AVX2, 2 AVX-512. */
static int jt_highest_level = 2;

/* Those of JT_F32 or JT_F64 for the best of these that the processor has. */
static const jt_own *jt_own_of(int type) {
#ifdef JT_X86
    switch (jt_level(jt_highest_level)) {
    case 2: return &jt_own_types_avx512[type];
    case 1: return &jt_own_types_avx2[type];
    }
#endif
    return &jt_own_types_base[type];
}

/* What a range of a batch is factorized with; `bytes` of room. */
static jt_task jt_task_begin(jt_call *call, size_t bytes) {
    jt_task task = {call, call->pool->wanted, JT_SUCCEEDED, NULL};
    if (bytes > 0 && posix_memalign(&task.room, 64, bytes)) task.status = 0;
    return task;
}

static int32_t jt_task_end(jt_task *task) {
    free(task->room);
    return task->status;
}

#endif
