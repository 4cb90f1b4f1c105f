/* Factors of matrices by blocks, in place and by rows, for one type of elements T and one set of
   instructions; included by `factorize_own_type.h`.

   LU and Cholesky factorizations are recursive (Toledo, SIAM J. Matrix Anal. Appl. 18 (1997),
   1065-1081; Gustavson, IBM J. Res. Dev. 41 (1997), 737-755): they factorize the first half of the
   columns, update the second half, and factorize that. Except for blocks of WIDTH columns, the
   computation consists of products of matrices, which BLAS computes and the call's threads divide.
   Within blocks, the elements of a vector belong to different columns of a right side, or rows of a
   matrix, so that sums are formed in the usual order. */

#define WIDTH JT_BLOCK_COLUMNS

/* Subtracts a (m x k) @ b (k x n) from c (m x n), or a @ b^T if b is n x k. */
typedef struct {
    int m, n, k, is_transposed;
    const T *a, *b;
    T *c;
    int lda, ldb, ldc;
    int64_t rows; /* the rows of one item of work */
} NAME(product);

static int32_t NAME(rows_less_product)(jt_call *call, void *data, int64_t begin, int64_t end) {
    NAME(product) *p = data;
    T one = 1, minus = -1;
    int64_t first = begin * p->rows;
    int rows = (int)((end * p->rows < p->m ? end * p->rows : p->m) - first);
    if (rows > 0) /* BLAS reads matrices by columns, so it computes the transpose of the product. */
        ((jt_gemm *)jt_lapack[TYPE_NUMBER][JT_GEMM])(
            p->is_transposed ? "T" : "N", "N", &p->n, &rows, &p->k, &minus, p->b, &p->ldb,
            p->a + first * p->lda, &p->lda, &one, p->c + first * p->ldc, &p->ldc);
    return JT_SUCCEEDED;
}

static void NAME(less_product)(jt_task *task, int m, int n, int k, const T *a, int lda, const T *b, int ldb,
                               int is_transposed, T *c, int ldc) {
    int64_t parts = (int64_t)m * n * k < JT_DIVIDED ? 1 : task->threads;
    NAME(product) p = {m, n, k, is_transposed, a, b, c, lda, ldb, ldc, (m + parts - 1) / parts};
    jt_divide(task, (jt_kernel)NAME(rows_less_product), &p, parts);
}

/* Computes x = l^-1 @ x for `count` <= WIDTH rows of vectors, where l is lower triangular, with or
   without a unit diagonal. */
static TARGET void NAME(substitute)(int count, const T *l, int ldl, int is_unit, NAME(vector) * x) {
    for (int j = 0; j < count; j++) {
        if (!is_unit) x[j] /= l[j * (int64_t)ldl + j];
        for (int i = j + 1; i < count; i++) x[i] -= l[i * (int64_t)ldl + j] * x[j];
    }
}

/* Computes b = l^-1 @ b for `count` <= WIDTH rows of n elements, where l has a unit diagonal. */
static TARGET void NAME(solve_block)(int count, int n, const T *l, int ldl, T *b, int ldb) {
    NAME(vector) x[WIDTH];
    int c = 0;
    for (; c + LANES <= n; c += LANES) {
        for (int i = 0; i < count; i++) x[i] = *(NAME(loose_vector) *)(b + i * (int64_t)ldb + c);
        NAME(substitute)(count, l, ldl, 1, x);
        for (int i = 0; i < count; i++) *(NAME(loose_vector) *)(b + i * (int64_t)ldb + c) = x[i];
    }
    if (c == n) return;
    for (int i = 0; i < count; i++) {
        x[i] = (NAME(vector)){0};
        memcpy(&x[i], b + i * (int64_t)ldb + c, sizeof(T) * (n - c));
    }
    NAME(substitute)(count, l, ldl, 1, x);
    for (int i = 0; i < count; i++) memcpy(b + i * (int64_t)ldb + c, &x[i], sizeof(T) * (n - c));
}

/* Computes b = l^-1 @ b, where b is k x n and l has a unit diagonal. */
static TARGET void NAME(solve_lower)(jt_task *task, int k, int n, const T *l, int ldl, T *b, int ldb) {
    if (k <= WIDTH) {
        NAME(solve_block)(k, n, l, ldl, b, ldb);
        return;
    }
    int half = jt_half(k, WIDTH);
    const T *corner = l + half * (int64_t)ldl;
    NAME(solve_lower)(task, half, n, l, ldl, b, ldb);
    NAME(less_product)(task, k - half, n, half, corner, ldl, b, ldb, 0, b + half * (int64_t)ldb, ldb);
    NAME(solve_lower)(task, k - half, n, corner + half, ldl, b + half * (int64_t)ldb, ldb);
}

/* Exchanges row i with row pivots[i], for i < count, in `columns` columns. */
static void NAME(exchange)(T *a, int lda, int columns, int count, const int32_t *pivots) {
    for (int i = 0; i < count; i++) {
        T *x = a + i * (int64_t)lda, *y = a + pivots[i] * (int64_t)lda;
        if (x == y) continue;
        for (int j = 0; j < columns; j++) {
            T kept = x[j];
            x[j] = y[j];
            y[j] = kept;
        }
    }
}

/* Computes LU factors of at most WIDTH columns, with pivots that are counted from 0. The columns are
   copied to adjacent rows of WIDTH elements, because rows of a large matrix are pages apart. The next
   pivot is determined when the elements of its column are changed for the last time. */
static TARGET void NAME(lu_block)(jt_task *task, int m, int n, T *a, int lda, int32_t *pivots) {
    enum { PARTS = WIDTH / LANES };
    NAME(vector) *rows = task->room;
    NAME(mask) beyond[PARTS];
    T most = -1;
    int count = jt_least(m, n), best = 0;
    for (int i = 0; i < m; i++) {
        T *x = (T *)(rows + i * (int64_t)PARTS);
        for (int k = 0; k < WIDTH; k++) x[k] = k < n ? a[i * (int64_t)lda + k] : 0;
        T size = x[0] < 0 ? -x[0] : x[0];
        if (size > most) most = size, best = i;
    }
    for (int j = 0; j < count; j++) {
        NAME(vector) *top = rows + j * (int64_t)PARTS, *chosen = rows + best * (int64_t)PARTS;
        for (int k = 0; k < PARTS && best != j; k++) {
            NAME(vector) kept = top[k];
            top[k] = chosen[k];
            chosen[k] = kept;
        }
        pivots[j] = best;
        best = j + 1, most = -1;
        /* As in LAPACK, a column of zeros is not scaled, and a reciprocal that would overflow is not
           used. */
        T pivot = ((T *)top)[j], after = j + 1 < n ? ((T *)top)[j + 1] : 0;
        T inverse = pivot == 0 ? 1 : 1 / pivot;
        if (!(inverse - inverse == 0)) {
            for (int i = j + 1; i < m; i++) ((T *)(rows + i * (int64_t)PARTS))[j] /= pivot;
            inverse = 1;
        }
        for (int k = 0; k < WIDTH; k++) ((WHOLE *)beyond)[k] = -(k > j);
        for (int i = j + 1; i < m; i++) {
            NAME(vector) *row = rows + i * (int64_t)PARTS;
            T *x = (T *)row, factor = x[j] * inverse;
            if (j + 1 < n) {
                T next = x[j + 1] - factor * after, size = next < 0 ? -next : next;
                if (size > most) most = size, best = i;
            }
            /* computed before the store to x[j], for which loads would wait */
            for (int k = 0; k < PARTS; k++)
                row[k] = NAME(select)(beyond[k], row[k] - factor * top[k], row[k]);
            x[j] = factor;
        }
    }
    for (int i = 0; i < m; i++) memcpy(a + i * (int64_t)lda, rows + i * (int64_t)PARTS, sizeof(T) * n);
}

/* Computes LU factors of a (m x n), with the largest element of a column as its pivot; pivots are
   counted from 0. */
static void NAME(lu)(jt_task *task, int m, int n, void *matrix, int lda, int32_t *pivots) {
    T *a = matrix;
    int count = jt_least(m, n), left = count <= WIDTH ? count : jt_half(count, WIDTH);
    if (left == n) {
        NAME(lu_block)(task, m, n, a, lda, pivots);
        return;
    }
    T *right = a + left, *low = a + left * (int64_t)lda;
    NAME(lu)(task, m, left, a, lda, pivots);
    NAME(exchange)(right, lda, n - left, left, pivots);
    NAME(solve_lower)(task, left, n - left, a, lda, right, lda);
    if (m == left) return;
    NAME(less_product)(task, m - left, n - left, left, low, lda, right, lda, 0, low + left, lda);
    NAME(lu)(task, m - left, n - left, low + left, lda, pivots + left);
    NAME(exchange)(low, lda, left, count - left, pivots + left);
    for (int i = left; i < count; i++) pivots[i] += left;
}

/* Computes the transpose of the Cholesky factor of at most WIDTH rows, and returns whether it exists.
   As in LAPACK, a pivot of NaN makes its column, and the elements that depend on it, NaN. */
static TARGET int NAME(cholesky_block)(int n, T *a, int lda) {
    T up[WIDTH][WIDTH] = {{0}};
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) up[j][i] = a[i * (int64_t)lda + j];
    for (int j = 0; j < n; j++) {
        if (up[j][j] <= 0) return 0;
        T root = (T)sqrt(up[j][j]);
        /* elements before the diagonal are not read */
        for (int k = 0; k < WIDTH; k++) up[j][k] /= root;
        up[j][j] = root; /* also for infinite pivots */
        for (int i = j + 1; i < n; i++) {
            T factor = up[j][i];
            for (int k = 0; k < WIDTH; k++) up[i][k] -= factor * (k < i ? 0 : up[j][k]);
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) a[i * (int64_t)lda + j] = up[j][i];
    return 1;
}

/* Computes b = b @ l^-T, where b is m x k; its rows are lanes of vectors. */
static TARGET void NAME(solve_right)(jt_task *task, int m, int k, const T *l, int ldl, T *b, int ldb) {
    if (k > WIDTH) {
        int half = jt_half(k, WIDTH);
        const T *corner = l + half * (int64_t)ldl;
        NAME(solve_right)(task, m, half, l, ldl, b, ldb);
        NAME(less_product)(task, m, k - half, half, b, ldb, corner, ldl, 1, b + half, ldb);
        NAME(solve_right)(task, m, k - half, corner + half, ldl, b + half, ldb);
        return;
    }
    union {
        NAME(vector) row;
        T lane[LANES];
    } x[WIDTH];
    for (int r = 0; r < m; r += LANES) {
        int rows = jt_least(LANES, m - r);
        T *block = b + r * (int64_t)ldb;
        for (int j = 0; j < k; j++) x[j].row = (NAME(vector)){0};
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < k; j++) x[j].lane[i] = block[i * (int64_t)ldb + j];
        NAME(substitute)(k, l, ldl, 0, &x[0].row);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < k; j++) block[i * (int64_t)ldb + j] = x[j].lane[i];
    }
}

/* Subtracts a (n x k) @ a^T from c (n x n) on and below the diagonal, for several rows of the result at
   a time. */
static int32_t NAME(rows_less_square)(jt_call *call, void *data, int64_t begin, int64_t end) {
    NAME(product) *p = data;
    T one = 1, minus = -1;
    for (int64_t part = begin; part < end; part++) {
        int64_t blocks = (p->m + p->rows - 1) / p->rows;
        int first = (int)((blocks - 1 - part) * p->rows); /* the longest rows come first */
        int rows = jt_least((int)p->rows, p->m - first);
        T *c = p->c + first * (int64_t)p->ldc;
        const T *a = p->a + first * (int64_t)p->lda;
        if (first > 0)
            ((jt_gemm *)jt_lapack[TYPE_NUMBER][JT_GEMM])("T", "N", &first, &rows, &p->k, &minus, p->a, &p->lda,
                                                         a, &p->lda, &one, c, &p->ldc);
        ((jt_syrk *)jt_lapack[TYPE_NUMBER][JT_SYRK])("U", "T", &rows, &p->k, &minus, a, &p->lda, &one,
                                                     c + first, &p->ldc);
    }
    return JT_SUCCEEDED;
}

static void NAME(less_square)(jt_task *task, int n, int k, const T *a, int lda, T *c, int ldc) {
    int rows = (int64_t)n * n * k / 2 < JT_DIVIDED || task->threads < 2 ? jt_most(n / 2, 2 * WIDTH)
                                                                        : jt_most(n / 8, 2 * WIDTH);
    NAME(product) p = {n, n, k, 1, a, a, c, lda, lda, ldc, rows};
    int64_t parts = (n + rows - 1) / rows;
    if ((int64_t)n * n * k / 2 < JT_DIVIDED)
        NAME(rows_less_square)(task->call, &p, 0, parts);
    else
        jt_divide(task, (jt_kernel)NAME(rows_less_square), &p, parts);
}

/* Computes the lower triangular factor in place, and returns whether it exists. The upper triangle is
   neither read nor written. */
static int NAME(cholesky)(jt_task *task, int n, void *matrix, int lda) {
    T *a = matrix;
    if (n <= WIDTH) return NAME(cholesky_block)(n, a, lda);
    int half = jt_half(n, WIDTH);
    T *low = a + half * (int64_t)lda;
    if (!NAME(cholesky)(task, half, a, lda)) return 0;
    NAME(solve_right)(task, n - half, half, a, lda, low, lda);
    NAME(less_square)(task, n - half, half, low, lda, low + half, lda);
    return NAME(cholesky)(task, n - half, low + half, lda);
}

#undef WIDTH
