/* The functions of factorize.h for one dtype: T, its real numbers R, TYPE, NAME, IS_COMPLEX. */

#define ROUTINE(kind, which) ((kind *)jt_lapack[TYPE][which])
#define MATRIX(slot, index, count) ((T *)slots[slot] + (index) * (int64_t)(count))
#define BLOCK 16 /* rows and columns that are transposed at a time; each is one cache line */

/* Copies a `rows` x `columns` matrix that is stored by rows to columns of length `lead`. */
static void NAME(to_columns)(const T *x, int rows, int columns, T *out, int lead) {
    for (int r = 0; r < rows; r += BLOCK)
        for (int c = 0; c < columns; c += BLOCK)
            for (int j = c; j < jt_least(c + BLOCK, columns); j++)
                for (int i = r; i < jt_least(r + BLOCK, rows); i++)
                    out[(int64_t)j * lead + i] = x[(int64_t)i * columns + j];
}

/* Copies columns of length `lead` to a `rows` x `columns` matrix that is stored by rows. */
static void NAME(to_rows)(const T *x, int lead, int rows, int columns, T *out) {
    for (int r = 0; r < rows; r += BLOCK)
        for (int c = 0; c < columns; c += BLOCK)
            for (int i = r; i < jt_least(r + BLOCK, rows); i++)
                for (int j = c; j < jt_least(c + BLOCK, columns); j++)
                    out[(int64_t)i * columns + j] = x[(int64_t)j * lead + i];
}

/* Writes NaN, which represents factors that do not exist. */
static void NAME(spoil)(T *x, int64_t count) {
    R *parts = (R *)x;
    for (int64_t i = 0; i < count * (int64_t)(sizeof(T) / sizeof(R)); i++) parts[i] = (R)NAN;
}

/* Writes a unit matrix. */
static void NAME(unit)(T *x, int rows, int columns) {
    memset(x, 0, sizeof(T) * rows * columns);
    for (int i = 0; i < jt_least(rows, columns); i++) x[i * (int64_t)columns + i] = 1;
}

/* Returns whether a triangle, stored by rows, contains neither infinities nor NaN, for which LAPACK may
   return finite numbers. */
static int NAME(is_finite)(const T *x, int n, int lower) {
    int parts = (int)(sizeof(T) / sizeof(R));
    for (int i = 0; i < n; i++) {
        const R *row = (const R *)(x + i * (int64_t)n);
        R sum = 0;
        for (int j = parts * (lower ? 0 : i); j < parts * (lower ? i + 1 : n); j++) sum += row[j] * 0;
        if (sum != 0) return 0;
    }
    return 1;
}

/* Returns the size of the workspace that a routine has requested in the first element of `room`. */
static int NAME(asked)(const T *room) {
    R first; /* The number is rounded to R, so the next integer may be meant. */
    memcpy(&first, room, sizeof first);
    return (int)(first + first * (R)0x1p-22) + 1;
}

/* Computes Cholesky factors. {n}; x, the factor. Reads the lower triangle. The lower factor, stored by
   rows, is the upper factor stored by columns. */
static int32_t NAME(cholesky)(jt_call *call, void **slots, int64_t begin, int64_t end) {
    const int64_t *sizes = slots[0];
    int n = (int)sizes[0], has_factor;
    jt_task task = jt_task_begin(call, 0);
    for (int64_t k = begin; k < end && n > 0; k++) {
        T *out = MATRIX(2, k, n * (int64_t)n);
        memcpy(out, MATRIX(1, k, n * (int64_t)n), sizeof(T) * n * n);
#ifdef IS_COMPLEX
        int info = 0;
        ROUTINE(jt_potrf, JT_POTRF)("U", &n, out, &n, &info);
        has_factor = info == 0;
#else
        has_factor = jt_own_of(TYPE)->cholesky(&task, n, out, n);
#endif
        if (!has_factor) NAME(spoil)(out, n * (int64_t)n);
        for (int i = 0; i < n && has_factor; i++)
            memset(out + i * (int64_t)n + i + 1, 0, sizeof(T) * (n - i - 1));
    }
    return jt_task_end(&task);
}

/* Computes the LU factors of x (m x n), with pivots that are counted from 0. */
static void NAME(lu_of)(jt_task *task, const T *x, int m, int n, T *factors, int32_t *pivots) {
#ifdef IS_COMPLEX
    int info = 0;
    NAME(to_columns)(x, m, n, task->room, m);
    ROUTINE(jt_getrf, JT_GETRF)(&m, &n, task->room, &m, pivots, &info);
    NAME(to_rows)(task->room, m, m, n, factors);
    for (int i = 0; i < jt_least(m, n); i++) pivots[i]--;
#else
    memcpy(factors, x, sizeof(T) * m * n);
    jt_own_of(TYPE)->lu(task, m, n, factors, n, pivots);
#endif
}

/* Computes LU factors. {m, n}; x, the factors, the pivots, the permutation. */
static int32_t NAME(lu)(jt_call *call, void **slots, int64_t begin, int64_t end) {
    const int64_t *sizes = slots[0];
    int m = (int)sizes[0], n = (int)sizes[1], count = jt_least(m, n);
    jt_task task = jt_task_begin(call, sizeof(T) * jt_most(1, m) * (size_t)jt_most(JT_BLOCK_COLUMNS, n));
    for (int64_t k = begin; k < end && task.status == JT_SUCCEEDED; k++) {
        int32_t *pivots = (int32_t *)slots[3] + k * count, *order = (int32_t *)slots[4] + k * m;
        if (count > 0)
            NAME(lu_of)(&task, MATRIX(1, k, m * (int64_t)n), m, n, MATRIX(2, k, m * (int64_t)n), pivots);
        for (int i = 0; i < m; i++) order[i] = i;
        for (int i = 0; i < count; i++) {
            int32_t other = pivots[i], row = order[i];
            if (other < 0 || other >= m) continue; /* If the matrix has NaN, LAPACK may return any pivot. */
            order[i] = order[other];
            order[other] = row;
        }
    }
    return jt_task_end(&task);
}

/* Computes QR factors. {m, n}; x, R with the vectors of the reflections below it, their factors. */
static int32_t NAME(geqrf)(jt_call *call, void **slots, int64_t begin, int64_t end) {
    const int64_t *sizes = slots[0];
    int m = (int)sizes[0], n = (int)sizes[1], count = jt_least(m, n), info = 0, query = -1;
    if (count == 0) return JT_SUCCEEDED;
    T best;
    ROUTINE(jt_geqrf_, JT_GEQRF)(&m, &n, &best, &m, &best, &best, &query, &info);
    int room = NAME(asked)(&best);
    T *columns = malloc(sizeof(T) * (m * (int64_t)n + room));
    if (columns == NULL) return 0;
    for (int64_t k = begin; k < end; k++) {
        NAME(to_columns)(MATRIX(1, k, m * (int64_t)n), m, n, columns, m);
        ROUTINE(jt_geqrf_, JT_GEQRF)(&m, &n, columns, &m, MATRIX(3, k, count), columns + m * (int64_t)n, &room, &info);
        NAME(to_rows)(columns, m, m, n, MATRIX(2, k, m * (int64_t)n));
    }
    free(columns);
    return JT_SUCCEEDED;
}

/* Multiplies reflections. {m, n, number of vectors}; the vectors, their factors, the first columns of
   the product. */
static int32_t NAME(householder_product)(jt_call *call, void **slots, int64_t begin, int64_t end) {
    const int64_t *sizes = slots[0];
    int m = (int)sizes[0], n = (int)sizes[1], count = (int)sizes[2], info = 0, query = -1;
    if (m == 0 || n == 0) return JT_SUCCEEDED;
    T best;
    ROUTINE(jt_orgqr, JT_ORGQR)(&m, &n, &count, &best, &m, &best, &best, &query, &info);
    int room = NAME(asked)(&best);
    T *columns = malloc(sizeof(T) * (m * (int64_t)n + room));
    if (columns == NULL) return 0;
    for (int64_t k = begin; k < end; k++) {
        NAME(to_columns)(MATRIX(1, k, m * (int64_t)n), m, n, columns, m);
        ROUTINE(jt_orgqr, JT_ORGQR)(&m, &n, &count, columns, &m, MATRIX(2, k, count),
                          columns + m * (int64_t)n, &room, &info);
        NAME(to_rows)(columns, m, m, n, MATRIX(3, k, m * (int64_t)n));
    }
    free(columns);
    return JT_SUCCEEDED;
}

/* Computes Q and R. {m, n, columns of Q}; x, Q, R. The code for small matrices returns NaN for those
   that are not finite; LAPACK then factorizes these, as it computes the columns before the first
   NaN. */
static int32_t NAME(qr)(jt_call *call, void **slots, int64_t begin, int64_t end) {
    const int64_t *sizes = slots[0];
    int m = (int)sizes[0], n = (int)sizes[1], width = (int)sizes[2], count = jt_least(m, n);
    int info = 0, query = -1, most = jt_most(n, width);
#ifndef IS_COMPLEX
    int in_lanes = jt_most(m, n) <= JT_LANE_ROWS && count > 0;
    if (in_lanes) {
        jt_own_of(TYPE)->qr(m, n, width, end - begin, MATRIX(1, begin, m * (int64_t)n),
                            MATRIX(2, begin, m * (int64_t)width), MATRIX(3, begin, width * (int64_t)n));
        while (begin < end && !isnan(*MATRIX(2, begin, m * (int64_t)width))) begin++;
        if (begin == end) return JT_SUCCEEDED;
    }
#endif
    T best[2] = {0, 0};
    if (count > 0) {
        ROUTINE(jt_geqrf_, JT_GEQRF)(&m, &n, best, &m, best, best, &query, &info);
        ROUTINE(jt_orgqr, JT_ORGQR)(&m, &width, &count, best + 1, &m, best + 1, best + 1, &query, &info);
    }
    int room = jt_most(1, jt_most(NAME(asked)(best), NAME(asked)(best + 1)));
    T *columns = malloc(sizeof(T) * (jt_most(1, m) * (int64_t)most + count + room));
    if (columns == NULL) return 0;
    T *factors = columns + m * (int64_t)most, *work = factors + count;
    for (int64_t k = begin; k < end; k++) {
        T *q = MATRIX(2, k, m * (int64_t)width), *r = MATRIX(3, k, width * (int64_t)n);
#ifndef IS_COMPLEX
        if (in_lanes && !isnan(*q)) continue;
#endif
        if (count == 0) { /* Q is the unit matrix, and R has no elements. */
            NAME(unit)(q, m, width);
            continue;
        }
        NAME(to_columns)(MATRIX(1, k, m * (int64_t)n), m, n, columns, m);
        ROUTINE(jt_geqrf_, JT_GEQRF)(&m, &n, columns, &m, factors, work, &room, &info);
        for (int i = 0; i < width; i++)
            for (int j = 0; j < n; j++) r[i * (int64_t)n + j] = i <= j ? columns[j * (int64_t)m + i] : 0;
        ROUTINE(jt_orgqr, JT_ORGQR)(&m, &width, &count, columns, &m, factors, work, &room, &info);
        NAME(to_rows)(columns, m, m, width, q);
    }
    free(columns);
    return JT_SUCCEEDED;
}

/* Computes eigenvalues of symmetric matrices. {n, whether the lower triangle is read, whether small
   real matrices are computed in lanes of vectors}; x, eigenvectors in columns, ascending
   eigenvalues. */
static int32_t NAME(eigh)(jt_call *call, void **slots, int64_t begin, int64_t end) {
    const int64_t *sizes = slots[0];
    int n = (int)sizes[0], info = 0, query = -1, whole = 0, whole_room = 1, real_room = 0;
    const char *part = sizes[1] ? "L" : "U";
    if (n == 0) return JT_SUCCEEDED;
#ifndef IS_COMPLEX
    if (n <= JT_LANE_ROWS && sizes[2]) {
        jt_own_of(TYPE)->eigh(n, sizes[1] != 0, end - begin, MATRIX(1, begin, n * (int64_t)n),
                              MATRIX(2, begin, n * (int64_t)n), (R *)slots[3] + begin * n);
        return JT_SUCCEEDED;
    }
#endif
    T best[2] = {0, 0};
    R real_best = 0;
#ifdef IS_COMPLEX
    ROUTINE(jt_heevd, JT_SYEVD)("V", part, &n, best, &n, &real_best, best + 1, &query, &real_best, &query,
                      &whole, &query, &info);
    real_room = (int)real_best;
#else
    ROUTINE(jt_syevd, JT_SYEVD)("V", part, &n, best, &n, &real_best, best + 1, &query, &whole, &query, &info);
#endif
    whole_room = jt_most(1, whole);
    int room = NAME(asked)(best + 1);
    int64_t count = n * (int64_t)n;
    T *columns = malloc(sizeof(T) * (count + room));
    R *reals = malloc(sizeof(R) * jt_most(1, real_room));
    int *wholes = malloc(sizeof(int) * whole_room);
    int32_t status = columns != NULL && reals != NULL && wholes != NULL ? JT_SUCCEEDED : 0;
    for (int64_t k = begin; k < end && status == JT_SUCCEEDED; k++) {
        R *values = (R *)slots[3] + k * n;
        info = !NAME(is_finite)(MATRIX(1, k, count), n, sizes[1] != 0);
        if (info == 0) {
            NAME(to_columns)(MATRIX(1, k, count), n, n, columns, n);
#ifdef IS_COMPLEX
            ROUTINE(jt_heevd, JT_SYEVD)("V", part, &n, columns, &n, values, columns + count, &room,
                                        reals, &real_room, wholes, &whole_room, &info);
#else
            ROUTINE(jt_syevd, JT_SYEVD)("V", part, &n, columns, &n, values, columns + count, &room,
                                        wholes, &whole_room, &info);
#endif
        }
        if (info == 0) {
            NAME(to_rows)(columns, n, n, n, MATRIX(2, k, count));
            continue;
        }
        NAME(spoil)(MATRIX(2, k, count), count);
        for (int i = 0; i < n; i++) values[i] = (R)NAN;
    }
    free(columns), free(reals), free(wholes);
    return status;
}

/* Computes singular values. {m, n, columns of U, rows of V^H, whether small real matrices are computed
   in lanes of vectors}; x, descending singular values, U, V^H. If the columns of U are -1, only the
   singular values are computed. */
static int32_t NAME(svd)(jt_call *call, void **slots, int64_t begin, int64_t end) {
    const int64_t *sizes = slots[0];
    int m = (int)sizes[0], n = (int)sizes[1], width = (int)sizes[2], height = (int)sizes[3];
    int count = jt_least(m, n), info = 0, query = -1, has_vectors = width >= 0, one = 1;
    const char *job = !has_vectors ? "N" : width == m && height == n ? "A" : "S";
    int ldu = has_vectors ? jt_most(1, m) : 1, ldvh = has_vectors ? jt_most(1, height) : 1;
    int64_t all = m * (int64_t)n, left = has_vectors ? m * (int64_t)width : 0;
    int64_t right = has_vectors ? height * (int64_t)n : 0, real_room = 1;
    if (count == 0) { /* There are no singular values, and U and V^H are unit matrices. */
        for (int64_t k = begin; k < end && has_vectors; k++) {
            NAME(unit)(MATRIX(3, k, left), m, width);
            NAME(unit)(MATRIX(4, k, right), height, n);
        }
        return JT_SUCCEEDED;
    }
#ifndef IS_COMPLEX
    if (jt_most(m, n) <= JT_LANE_ROWS && sizes[4]) {
        jt_own_of(TYPE)->svd(m, n, width, height, end - begin, MATRIX(1, begin, all),
                             MATRIX(2, begin, count), has_vectors ? MATRIX(3, begin, left) : NULL,
                             has_vectors ? MATRIX(4, begin, right) : NULL);
        return JT_SUCCEEDED;
    }
#endif
    T best = 0;
#ifdef IS_COMPLEX
    real_room = count * (7 * (int64_t)count + 2 * (int64_t)jt_most(m, n) + 8);
    ROUTINE(jt_gesdd_complex, JT_GESDD)(job, &m, &n, &best, &m, &best, &best, &ldu, &best, &ldvh, &best,
                                        &query, &best, &one, &info);
#else
    ROUTINE(jt_gesdd, JT_GESDD)(job, &m, &n, &best, &m, &best, &best, &ldu, &best, &ldvh, &best, &query,
                                &one, &info);
#endif
    int room = NAME(asked)(&best);
    T *columns = malloc(sizeof(T) * (all + left + right + room));
    R *reals = malloc(sizeof(R) * real_room);
    int *wholes = malloc(sizeof(int) * 8 * count);
    int32_t status = columns != NULL && reals != NULL && wholes != NULL ? JT_SUCCEEDED : 0;
    T *u = columns + all, *vh = u + left, *work = vh + right;
    for (int64_t k = begin; k < end && status == JT_SUCCEEDED; k++) {
        R *values = (R *)slots[2] + k * count;
        const R *parts = (const R *)MATRIX(1, k, all);
        R sum = 0;
        for (int64_t i = 0; i < all * (int64_t)(sizeof(T) / sizeof(R)); i++) sum += parts[i] * 0;
        info = sum != 0; /* Some versions of LAPACK return vectors for matrices with infinities. */
        if (info == 0) NAME(to_columns)(MATRIX(1, k, all), m, n, columns, m);
#ifdef IS_COMPLEX
        if (info == 0) ROUTINE(jt_gesdd_complex, JT_GESDD)(job, &m, &n, columns, &m, values, u, &ldu, vh,
                                                           &ldvh, work, &room, reals, wholes, &info);
#else
        if (info == 0) ROUTINE(jt_gesdd, JT_GESDD)(job, &m, &n, columns, &m, values, u, &ldu, vh, &ldvh,
                                                   work, &room, wholes, &info);
#endif
        if (info != 0)
            for (int i = 0; i < count; i++) values[i] = (R)NAN;
        if (!has_vectors) continue;
        if (info != 0) NAME(spoil)(u, left + right);
        NAME(to_rows)(u, m, m, width, MATRIX(3, k, left));
        NAME(to_rows)(vh, height, height, n, MATRIX(4, k, right));
    }
    free(columns), free(reals), free(wholes);
    return status;
}

/* {m, n, a is at the left, lower, transposed (2: and conjugate), of unit diagonal}; a, b, solution.

   b, by rows, is the transpose of LAPACK's, and so is a: a solution from the left is one from the right
   with the other triangle. */
static int32_t NAME(triangular_solve)(jt_call *call, void **slots, int64_t begin, int64_t end) {
    const int64_t *sizes = slots[0];
    int m = (int)sizes[0], n = (int)sizes[1], at_left = sizes[2] != 0, order = at_left ? m : n;
    T one = 1;
    if (m == 0 || n == 0) return JT_SUCCEEDED;
    for (int64_t k = begin; k < end; k++) {
        T *out = MATRIX(3, k, m * (int64_t)n);
        memcpy(out, MATRIX(2, k, m * (int64_t)n), sizeof(T) * m * n);
        ROUTINE(jt_trsm, JT_TRSM)(at_left ? "R" : "L", sizes[3] ? "U" : "L",
                         sizes[4] == 0 ? "N" : sizes[4] == 1 ? "T" : "C", sizes[5] ? "U" : "N", &n, &m,
                         &one, MATRIX(1, k, order * (int64_t)order), &order, out, &n);
    }
    return JT_SUCCEEDED;
}

#include "factorize_forms_type.h"
#include "factorize_updates_type.h"

#undef ROUTINE
#undef MATRIX
#undef BLOCK
#undef IS_COMPLEX
#undef NAME
#undef TYPE
#undef R
#undef T
