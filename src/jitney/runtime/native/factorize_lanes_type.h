/* Eigenvalues and eigenvectors of small symmetric matrices, as many at once as a vector has elements,
   for one type of elements T and one set of instructions; included by `factorize_own_type.h`.

   Householder's reduction to a tridiagonal matrix and implicit QL steps (Golub and Van Loan, Matrix
   Computations, 8.3; Dubrulle, Martin and Wilkinson, Numerische Mathematik 12 (1968), 377-383). Each
   lane decides for itself when it is done, and is not changed afterwards: what it computes does not
   depend on its neighbors. Matrices are scaled by powers of two, so that their largest elements are
   about 1: squares do not overflow, and what is below TINY is as good as zero. */

#define LENGTH JT_LANE_ROWS
#define TURNS 40 /* the limit for one eigenvalue; most take two or three */

static inline TARGET NAME(vector) NAME(abs)(NAME(vector) x) { return NAME(select)(x < 0, -x, x); }

static inline TARGET NAME(vector) NAME(root)(NAME(vector) x) {
    union {
        NAME(vector) all;
        T lane[LANES];
    } y = {x};
    for (int k = 0; k < LANES; k++) y.lane[k] = ROOT(y.lane[k]);
    return y.all;
}

static inline TARGET int NAME(any)(NAME(mask) x) {
    union {
        NAME(mask) all;
        uint64_t part[VECTOR / 8];
    } y = {x};
    uint64_t found = 0;
    for (int k = 0; k < VECTOR / 8; k++) found |= y.part[k];
    return found != 0;
}

/* Computes the diagonal d and the subdiagonal e of q^T @ a @ q, and q by columns. Reads the lower
   triangle of a. */
static TARGET void NAME(tridiagonalize)(int n, NAME(vector) a[LENGTH][LENGTH], NAME(vector) * d,
                                        NAME(vector) * e, NAME(vector) q[LENGTH][LENGTH]) {
    const NAME(vector) zero = {0};
    NAME(vector) w[LENGTH], tau[LENGTH];
    for (int i = 0; i < n - 2; i++) {
        NAME(vector) rest = zero, first = a[i + 1][i], half = zero;
        for (int k = i + 2; k < n; k++) rest += a[k][i] * a[k][i];
        NAME(mask) is_done = rest < TINY * TINY; /* The squares have lost digits, or are zero. */
        NAME(vector) norm = NAME(root)(first * first + rest);
        NAME(vector) beta = NAME(select)(is_done, first, NAME(select)(first < 0, norm, -norm));
        tau[i] = NAME(select)(is_done, zero, (beta - first) / beta);
        NAME(vector) scale = NAME(select)(is_done, zero, 1 / (first - beta));
        e[i] = beta;
        a[i + 1][i] = zero + 1;
        for (int k = i + 2; k < n; k++) a[k][i] *= scale;
        for (int r = i + 1; r < n; r++) {
            NAME(vector) sum = zero;
            for (int c = i + 1; c <= r; c++) sum += a[r][c] * a[c][i];
            for (int c = r + 1; c < n; c++) sum += a[c][r] * a[c][i];
            w[r] = tau[i] * sum;
            half += w[r] * a[r][i];
        }
        half *= tau[i] / 2;
        for (int r = i + 1; r < n; r++) w[r] -= half * a[r][i];
        for (int r = i + 1; r < n; r++)
            for (int c = i + 1; c <= r; c++) a[r][c] -= a[r][i] * w[c] + w[r] * a[c][i];
    }
    for (int c = 0; c < n; c++) {
        d[c] = a[c][c];
        for (int r = 0; r < n; r++) q[c][r] = zero + (T)(r == c);
    }
    if (n > 1) e[n - 2] = a[n - 1][n - 2];
    e[n - 1] = zero;
    for (int i = n - 3; i >= 0; i--)
        for (int c = i + 1; c < n; c++) {
            NAME(vector) sum = zero;
            for (int r = i + 1; r < n; r++) sum += a[r][i] * q[c][r];
            sum *= tau[i];
            for (int r = i + 1; r < n; r++) q[c][r] -= a[r][i] * sum;
        }
}

/* Performs one QL step on rows l to m in the lanes `active`; see `diagonalize`. */
static TARGET void NAME(ql_step)(int n, int l, NAME(mask) active, NAME(mask) m, NAME(vector) * d, NAME(vector) * e,
                                 NAME(vector) q[LENGTH][LENGTH]) {
    const NAME(vector) zero = {0}, one = zero + 1;
    NAME(vector) g = (d[l + 1] - d[l]) / (2 * e[l]), r = NAME(root)(g * g + 1), last = zero;
    for (int k = l + 1; k < n; k++) last = NAME(select)(m == k, d[k], last);
    g = last - d[l] + e[l] / (g + NAME(select)(g < 0, -r, r));
    NAME(vector) s = one, c = one, p = zero;
    for (int i = n - 2; i >= l; i--) {
        NAME(mask) now = active & (m > i);
        NAME(vector) f = s * e[i], b = c * e[i];
        NAME(vector) squares = f * f + g * g;
        NAME(mask) lost = now & (squares < TINY * TINY); /* The matrix splits into two here. */
        r = NAME(root)(squares);
        e[i + 1] = NAME(select)(now, NAME(select)(lost, zero, r), e[i + 1]);
        d[i + 1] = NAME(select)(lost, d[i + 1] - p, d[i + 1]);
        active &= ~lost;
        now &= ~lost;
        NAME(vector) inverse = 1 / r;
        s = NAME(select)(now, f * inverse, s);
        c = NAME(select)(now, g * inverse, c);
        NAME(vector) left = d[i + 1] - p, change = (d[i] - left) * s + 2 * c * b;
        p = NAME(select)(now, s * change, p);
        d[i + 1] = NAME(select)(now, left + p, d[i + 1]);
        g = NAME(select)(now, c * change - b, g);
        NAME(vector) sine = NAME(select)(now, s, zero), cosine = NAME(select)(now, c, one);
        for (int k = 0; k < n; k++) {
            NAME(vector) x = q[i][k], y = q[i + 1][k];
            q[i + 1][k] = sine * x + cosine * y;
            q[i][k] = cosine * x - sine * y;
        }
    }
    d[l] = NAME(select)(active, d[l] - p, d[l]);
    e[l] = NAME(select)(active, g, e[l]);
}

/* Replaces d by the eigenvalues and q by the eigenvectors. Returns the lanes that did not converge. */
static TARGET NAME(mask) NAME(diagonalize)(int n, NAME(vector) * d, NAME(vector) * e,
                                           NAME(vector) q[LENGTH][LENGTH]) {
    const NAME(vector) zero = {0};
    NAME(mask) failed = {0};
    for (int l = 0; l < n - 1; l++)
        for (int turn = 0;; turn++) {
            /* the last row of the block that begins with row l */
            NAME(mask) m = (NAME(mask)){0} + (n - 1);
            for (int k = n - 2; k >= l; k--) {
                NAME(vector) around = NAME(abs)(d[k]) + NAME(abs)(d[k + 1]);
                NAME(mask) ends = NAME(abs)(e[k]) <= EPSILON * around + TINY;
                m = (ends & k) | (~ends & m);
            }
            NAME(mask) active = m > l;
            if (!NAME(any)(active)) break;
            if (turn == TURNS) {
                failed |= active;
                break;
            }
            NAME(ql_step)(n, l, active, m, d, e, q);
            for (int k = l + 1; k < n; k++) e[k] = NAME(select)(active & (m == k), zero, e[k]);
        }
    return failed;
}

/* Computes the eigenvectors, in columns, and the ascending eigenvalues of `used` <= LANES matrices with
   n <= LENGTH rows. */
static TARGET void NAME(eigh_at_once)(int n, int is_lower, int used, const T *x, T *vectors, T *values) {
    const NAME(vector) zero = {0};
    const int64_t count = n * (int64_t)n;
    NAME(vector) a[LENGTH][LENGTH], q[LENGTH][LENGTH], d[LENGTH], e[LENGTH], most = zero, sum = zero;
    union {
        NAME(vector) all;
        T lane[LANES];
    } up, down, value[LENGTH];
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            const T *from = x + (is_lower ? i * n + j : j * n + i);
            value[0].all = zero;
            for (int k = 0; k < used; k++) value[0].lane[k] = from[k * count];
            a[i][j] = value[0].all;
            sum += a[i][j] * 0;
            NAME(vector) size = NAME(abs)(a[i][j]);
            most = NAME(select)(size > most, size, most);
        }
    NAME(mask) is_finite = sum == 0;
    value[0].all = NAME(select)(is_finite, most, zero);
    for (int k = 0; k < LANES; k++) {
        int exponent;
        frexp(value[0].lane[k], &exponent);
        exponent = jt_most(LEAST_EXPONENT, jt_least(exponent, -LEAST_EXPONENT));
        down.lane[k] = (T)ldexp(1, -exponent);
        up.lane[k] = (T)ldexp(1, exponent);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) a[i][j] = NAME(select)(is_finite, a[i][j] * down.all, zero);
    NAME(tridiagonalize)(n, a, d, e, q);
    NAME(mask) failed = NAME(diagonalize)(n, d, e, q) | ~is_finite;
    for (int i = 0; i < n; i++) {
        value[i].all = NAME(select)(failed, zero + (T)NAN, d[i] * up.all);
        for (int r = 0; r < n; r++) q[i][r] = NAME(select)(failed, zero + (T)NAN, q[i][r]);
    }
    for (int k = 0; k < used; k++) {
        int order[LENGTH];
        for (int i = 0; i < n; i++) {
            int place = i;
            for (; place > 0 && value[order[place - 1]].lane[k] > value[i].lane[k]; place--)
                order[place] = order[place - 1];
            order[place] = i;
        }
        for (int j = 0; j < n; j++) {
            const T *from = (const T *)q[order[j]] + k;
            values[k * n + j] = value[order[j]].lane[k];
            for (int r = 0; r < n; r++) vectors[k * count + r * n + j] = from[r * LANES];
        }
    }
}

/* Computes the same for any number of matrices. */
static void NAME(eigh)(int n, int is_lower, int64_t number, const void *x, void *vectors, void *values) {
    const int64_t count = n * (int64_t)n;
    for (int64_t k = 0; k < number; k += LANES)
        NAME(eigh_at_once)(n, is_lower, number - k < LANES ? (int)(number - k) : LANES,
                           (const T *)x + k * count, (T *)vectors + k * count, (T *)values + k * n);
}

#undef LENGTH
#undef TURNS
