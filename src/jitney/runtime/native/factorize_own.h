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
/* The number of multiplications, some tens of microseconds, from which on threads divide a product. */
enum { JT_DIVIDED = 1 << 20 };
/* Columns of the blocks at which the recursion ends. */
enum { JT_BLOCK_COLUMNS = 16 };

/* A factorization that is divided among the threads of a call. */
typedef struct {
    jt_call *call;
    int threads;
    int32_t status;
    void *room; /* for LU factors, JT_BLOCK_COLUMNS elements for each row, aligned for vectors */
} jt_task;

/* The loop of the pool, `jt_parallel_for` of `threads.h`. Threads and their state belong to another
   module. */
static int32_t (*jt_loop)(jt_call *call, jt_kernel kernel, void *slots, int64_t n, int64_t grain);

/* Calls kernel(call, data, begin, end) for parts of the items [0, n). */
static void jt_divide(jt_task *task, jt_kernel kernel, void *data, int64_t n) {
    if (task->status == JT_SUCCEEDED) task->status = jt_loop(task->call, kernel, data, n, 1);
}

/* Returns the size of the first of two parts of n, a multiple of `width`. */
static int jt_half(int n, int width) { return (n / 2 + width - 1) / width * width; }

/* The functions for one type of elements. */
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

/* The instructions that may be used: 0 for those of every processor, 1 for AVX2, 2 for AVX-512. */
static int jt_highest_level = 2;

/* Returns the functions for JT_F32 or JT_F64, compiled for the best of these instructions that the
   processor has. */
static const jt_own *jt_own_of(int type) {
#ifdef JT_X86
    switch (jt_level(jt_highest_level)) {
    case 2: return &jt_own_types_avx512[type];
    case 1: return &jt_own_types_avx2[type];
    }
#endif
    return &jt_own_types_base[type];
}

/* Returns the state for the factorizations of a range of a batch, with a workspace of `bytes` bytes. */
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
