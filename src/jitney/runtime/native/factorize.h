/* Factorizations of batches of matrices by LAPACK, whose routines are called by address, without Python.

   Each function has the signature of a kernel, `int32_t f(jt_call *call, void **slots, int64_t begin,
   int64_t end)`, and computes matrices [begin, end) of a batch, so that a pool can divide a batch like
   a loop. `slots` contains the addresses of sizes and options, of operands, and of results; the comment
   of each function lists them, with sizes and options in braces.

   Matrices are stored by rows here and by columns in LAPACK: they are transposed before and after,
   unless the transpose has the same factors. Real LU and Cholesky factors, and eigenvalues of small
   symmetric matrices, are computed by the code in `factorize_own.h`, all others by LAPACK. If a matrix
   has no factorization, the results are NaN. */

#ifndef JITNEY_FACTORIZE_H
#define JITNEY_FACTORIZE_H

#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"

/* The routines that are called, in the order of the addresses that `jt_set_lapack` takes. */
enum {
    JT_POTRF, JT_GETRF, JT_GEQRF, JT_ORGQR, JT_SYEVD, JT_GESDD, JT_TRSM, JT_GEMM, JT_SYRK,
    JT_ORMQR, JT_GEHRD, JT_SYTRD, JT_GEES, JT_GEEV,
    JT_ROUTINES
};
enum { JT_F32, JT_F64, JT_C64, JT_C128, JT_MATRIX_TYPES };

static void *jt_lapack[JT_MATRIX_TYPES][JT_ROUTINES];

static void jt_set_lapack(int type, int routine, void *address) { jt_lapack[type][routine] = address; }

/* Their types, as SciPy exports them: all arguments are addresses, and lengths of strings are omitted.
   For complex numbers, SYEVD stands for HEEVD; it, GESDD, GEES and GEEV also take a workspace of real
   numbers. */
typedef void jt_potrf(const char *part, int *n, void *a, int *lda, int *info);
typedef void jt_getrf(int *m, int *n, void *a, int *lda, int32_t *pivots, int *info);
typedef void jt_geqrf_(int *m, int *n, void *a, int *lda, void *tau, void *work, int *room, int *info);
typedef void jt_orgqr(int *m, int *n, int *k, void *a, int *lda, void *tau, void *work, int *room,
                      int *info);
typedef void jt_syevd(const char *job, const char *part, int *n, void *a, int *lda, void *values,
                      void *work, int *room, int *wholes, int *whole_room, int *info);
typedef void jt_heevd(const char *job, const char *part, int *n, void *a, int *lda, void *values,
                      void *work, int *room, void *reals, int *real_room, int *wholes, int *whole_room,
                      int *info);
typedef void jt_gesdd(const char *job, int *m, int *n, void *a, int *lda, void *values, void *u,
                      int *ldu, void *vh, int *ldvh, void *work, int *room, int *wholes, int *info);
typedef void jt_gesdd_complex(const char *job, int *m, int *n, void *a, int *lda, void *values, void *u,
                              int *ldu, void *vh, int *ldvh, void *work, int *room, void *reals,
                              int *wholes, int *info);
typedef void jt_trsm(const char *side, const char *part, const char *trans, const char *diagonal,
                     int *m, int *n, void *alpha, const void *a, int *lda, void *b, int *ldb);
typedef void jt_gemm(const char *trans_a, const char *trans_b, int *m, int *n, int *k, void *alpha,
                     const void *a, int *lda, const void *b, int *ldb, void *beta, void *c, int *ldc);
typedef void jt_syrk(const char *part, const char *trans, int *n, int *k, void *alpha, const void *a,
                     int *lda, void *beta, void *c, int *ldc);
typedef void jt_ormqr_(const char *side, const char *trans, int *m, int *n, int *k, void *a, int *lda,
                       void *tau, void *c, int *ldc, void *work, int *room, int *info);
typedef void jt_gehrd(int *n, int *first, int *last, void *a, int *lda, void *tau, void *work, int *room,
                      int *info);
typedef void jt_sytrd(const char *part, int *n, void *a, int *lda, void *d, void *e, void *tau,
                      void *work, int *room, int *info);
typedef void jt_gees(const char *job, const char *sort, void *choice, int *n, void *a, int *lda,
                     int *chosen, void *re, void *im, void *vectors, int *ldv, void *work, int *room,
                     int *wholes, int *info);
typedef void jt_gees_complex(const char *job, const char *sort, void *choice, int *n, void *a, int *lda,
                             int *chosen, void *values, void *vectors, int *ldv, void *work, int *room,
                             void *reals, int *wholes, int *info);
typedef void jt_geev(const char *left, const char *right, int *n, void *a, int *lda, void *re, void *im,
                     void *vl, int *ldvl, void *vr, int *ldvr, void *work, int *room, int *info);
typedef void jt_geev_complex(const char *left, const char *right, int *n, void *a, int *lda,
                             void *values, void *vl, int *ldvl, void *vr, int *ldvr, void *work,
                             int *room, void *reals, int *info);

static int jt_least(int a, int b) { return a < b ? a : b; }
static int jt_most(int a, int b) { return a > b ? a : b; }

#include "factorize_own.h"

#define T float
#define R float
#define TYPE JT_F32
#define NAME(name) jt_##name##_f32
#include "factorize_type.h"

#define T double
#define R double
#define TYPE JT_F64
#define NAME(name) jt_##name##_f64
#include "factorize_type.h"

#define T float _Complex
#define R float
#define TYPE JT_C64
#define IS_COMPLEX
#define NAME(name) jt_##name##_c64
#include "factorize_type.h"

#define T double _Complex
#define R double
#define TYPE JT_C128
#define IS_COMPLEX
#define NAME(name) jt_##name##_c128
#include "factorize_type.h"

/* The functions, in the order of the enumeration JT_... and of their names in `compiler/lapack.py`. */
static void *const jt_factorizations[][JT_MATRIX_TYPES] = {
#define JT_ALL(name) \
    {(void *)jt_##name##_f32, (void *)jt_##name##_f64, (void *)jt_##name##_c64, (void *)jt_##name##_c128}
    JT_ALL(cholesky), JT_ALL(lu), JT_ALL(geqrf), JT_ALL(householder_product), JT_ALL(qr),
    JT_ALL(eigh), JT_ALL(svd), JT_ALL(triangular_solve), JT_ALL(ormqr), JT_ALL(hessenberg),
    JT_ALL(tridiagonal), JT_ALL(schur), JT_ALL(eig), JT_ALL(tridiagonal_solve), JT_ALL(cholesky_update),
#undef JT_ALL
};

#endif
