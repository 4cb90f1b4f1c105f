/* Tridiagonal systems, and updates of Cholesky factors: a part of factorize_type.h. */

/* Returns |x|, or |re| + |im| for a complex number, by which LAPACK chooses pivots. */
static R NAME(size)(T x) {
    R parts[2] = {0, 0};
    memcpy(parts, &x, sizeof x);
    return (parts[0] < 0 ? -parts[0] : parts[0]) + (parts[1] < 0 ? -parts[1] : parts[1]);
}

/* Subtracts factor * rows[j] from rows[i]; each row has `columns` numbers. */
static void NAME(subtract)(T *x, int64_t i, int64_t j, T factor, int columns) {
    T *to = x + i * columns;
    const T *from = x + j * columns;
    for (int c = 0; c < columns; c++) to[c] -= factor * from[c];
}

/* Solves a system by Gaussian elimination with exchanges of neighboring rows, like GTSV; `x` is the
   right side, and becomes the solution. U has three diagonals. Pivots smaller than `least` are replaced
   by it, unless it is 0. Returns 0 if a pivot is 0. */
static int NAME(eliminate)(int n, int columns, R least, const T *low, T *diagonal, T *up, T *second, T *x) {
    for (int i = 0; i < n; i++) {
        int has_next = i + 1 < n, is_exchanged = has_next && !(NAME(size)(diagonal[i]) >= NAME(size)(low[i]));
        T below = has_next ? low[i] : 0;
        second[i] = 0;
        if (is_exchanged) {
            T pivot = below, next = diagonal[i + 1];
            below = diagonal[i];
            diagonal[i] = pivot;
            diagonal[i + 1] = up[i];
            up[i] = next;
            second[i] = i + 2 < n ? up[i + 1] : 0;
            for (int c = 0; c < columns; c++) {
                T *here = x + i * (int64_t)columns + c, kept = *here;
                *here = here[columns];
                here[columns] = kept;
            }
        }
        if (NAME(size)(diagonal[i]) < least) diagonal[i] = least;
        if (diagonal[i] == 0) return 0;
        if (!has_next) break;
        T factor = below / diagonal[i];
        diagonal[i + 1] -= factor * up[i];
        if (is_exchanged && i + 2 < n) up[i + 1] = -factor * second[i];
        NAME(subtract)(x, i + 1, i, factor, columns);
    }
    for (int i = n - 1; i >= 0; i--) {
        if (i + 1 < n) NAME(subtract)(x, i, i + 1, up[i], columns);
        if (i + 2 < n) NAME(subtract)(x, i, i + 2, second[i], columns);
        for (int c = 0; c < columns; c++) x[i * (int64_t)columns + c] /= diagonal[i];
    }
    return 1;
}

/* Solves tridiagonal systems. {n, columns, whether pivots that are nearly 0 are replaced by a rounding
   error of the largest element}; the diagonals below, on and above the main one, each with n elements,
   of which the first one of the lower and the last one of the upper diagonal are not read; the right
   sides (n x columns), the solution. */
static int32_t NAME(tridiagonal_solve)(jt_call *call, void **slots, int64_t begin, int64_t end) {
    const int64_t *sizes = slots[0];
    int n = (int)sizes[0], columns = (int)sizes[1];
    int64_t all = n * (int64_t)columns;
    const R epsilon = sizeof(R) == 4 ? (R)0x1p-23 : (R)0x1p-52;
    if (all == 0) return JT_SUCCEEDED;
    T *diagonal = malloc(sizeof(T) * 3 * n), *up = diagonal + n, *second = up + n;
    if (diagonal == NULL) return 0;
    for (int64_t k = begin; k < end; k++) {
        const T *low = MATRIX(1, k, n) + 1;
        T *x = MATRIX(5, k, all);
        R most = 0;
        memcpy(diagonal, MATRIX(2, k, n), sizeof(T) * n);
        memcpy(up, MATRIX(3, k, n), sizeof(T) * n);
        memcpy(x, MATRIX(4, k, all), sizeof(T) * all);
        for (int i = 0; i < n && sizes[2]; i++) {
            R on = NAME(size)(diagonal[i]), below = i + 1 < n ? NAME(size)(low[i]) : 0;
            R above = i + 1 < n ? NAME(size)(up[i]) : 0;
            most = on > most ? on : most;
            most = below > most ? below : most;
            most = above > most ? above : most;
        }
        R least = sizes[2] ? epsilon * (most > 0 ? most : 1) : 0;
        if (!NAME(eliminate)(n, columns, least, low, diagonal, up, second, x)) NAME(spoil)(x, all);
    }
    free(diagonal);
    return JT_SUCCEEDED;
}

/* Returns the square root of the sum of the squares. */
static T NAME(length)(T x, T y) {
#ifdef IS_COMPLEX
    return sizeof(R) == 4 ? __builtin_csqrtf(x * x + y * y) : __builtin_csqrt(x * x + y * y);
#else
    return (R)hypot(x, y);
#endif
}

/* Updates Cholesky factors by rotations. {n}; an upper triangle R, a vector w, the upper triangle S
   with S^T S = R^T R + w w^T. */
static int32_t NAME(cholesky_update)(jt_call *call, void **slots, int64_t begin, int64_t end) {
    int n = (int)((const int64_t *)slots[0])[0];
    if (n == 0) return JT_SUCCEEDED;
    T *v = malloc(sizeof(T) * n);
    if (v == NULL) return 0;
    for (int64_t k = begin; k < end; k++) {
        T *out = MATRIX(3, k, n * (int64_t)n);
        memcpy(out, MATRIX(1, k, n * (int64_t)n), sizeof(T) * n * n);
        memcpy(v, MATRIX(2, k, n), sizeof(T) * n);
        for (int i = 0; i < n; i++) {
            T *row = out + i * (int64_t)n, length = NAME(length)(row[i], v[i]), c = 1, s = 0;
            if (length != 0) c = row[i] / length, s = v[i] / length;
            memset(row, 0, sizeof(T) * i);
            for (int j = i; j < n; j++) {
                T here = row[j];
                row[j] = c * here + s * v[j];
                v[j] = c * v[j] - s * here;
            }
        }
    }
    free(v);
    return JT_SUCCEEDED;
}
