/* QR and singular values of small matrices, as many at once as a vector has elements, for one type of
   elements T and one set of instructions; included by `factorize_own_type.h` after the eigenvalues, whose
   helpers it uses.

   QR by Householder's reflections, with LAPACK's signs. Singular values by Jacobi's rotations of columns
   (Hestenes, Journal of SIAM 6 (1958), 51-90; Demmel and Veselic, SIAM J. Matrix Anal. Appl. 13 (1992),
   1204-1245: small ones have their digits, too). Each lane rotates only where it has to, and is left alone
   when it is done. */

#define LENGTH JT_LANE_ROWS
#define SWEEPS 30 /* the limit; most matrices take six to nine */

/* Loads x as a[c][r]. If `up` is passed, lanes are scaled by powers of two so that their largest
   element is about 1, and `up` receives the inverse factors. Lanes that contain infinities or NaN
   become 0. Returns the lanes whose elements are all finite. */
static TARGET NAME(mask) NAME(gathered)(int m, int n, int used, int is_turned, const T *x,
                                        NAME(vector) a[LENGTH][LENGTH], NAME(vector) * up) {
    const NAME(vector) zero = {0};
    const int64_t count = m * (int64_t)n;
    NAME(vector) most = zero, sum = zero;
    union {
        NAME(vector) all;
        T lane[LANES];
    } value, back, down;
    for (int r = 0; r < m; r++)
        for (int c = 0; c < n; c++) {
            value.all = zero;
            for (int k = 0; k < used; k++) value.lane[k] = x[k * count + r * n + c];
            if (is_turned)
                a[r][c] = value.all;
            else
                a[c][r] = value.all;
            sum += value.all * 0;
            NAME(vector) size = NAME(abs)(value.all);
            most = NAME(select)(size > most, size, most);
        }
    NAME(mask) is_finite = sum == 0;
    value.all = NAME(select)(is_finite, most, zero);
    for (int k = 0; k < LANES; k++) {
        int exponent = 0;
        if (up) frexp(value.lane[k], &exponent);
        exponent = jt_most(LEAST_EXPONENT, jt_least(exponent, -LEAST_EXPONENT));
        down.lane[k] = (T)ldexp(1, -exponent);
        back.lane[k] = (T)ldexp(1, exponent);
    }
    if (up) *up = back.all;
    for (int c = 0; c < (is_turned ? m : n); c++)
        for (int r = 0; r < (is_turned ? n : m); r++)
            a[c][r] = NAME(select)(is_finite, a[c][r] * down.all, zero);
    return is_finite;
}

/* Computes the product of the reflections (a, tau), which is m x m, applied to the first `width`
   columns of the unit matrix. */
static TARGET void NAME(reflections)(int m, int count, int width, NAME(vector) a[LENGTH][LENGTH],
                                     const NAME(vector) * tau, NAME(vector) q[LENGTH][LENGTH]) {
    const NAME(vector) zero = {0};
    for (int c = 0; c < width; c++)
        for (int r = 0; r < m; r++) q[c][r] = zero + (T)(r == c);
    for (int i = count - 1; i >= 0; i--)
        for (int c = i; c < width; c++) {
            NAME(vector) sum = q[c][i];
            for (int r = i + 1; r < m; r++) sum += a[i][r] * q[c][r];
            sum *= tau[i];
            q[c][i] -= sum;
            for (int r = i + 1; r < m; r++) q[c][r] -= a[i][r] * sum;
        }
}

/* Computes Q, m x width, and R, width x n, of `used` <= LANES matrices. */
static TARGET void NAME(qr_at_once)(int m, int n, int width, int used, const T *x, T *q, T *r) {
    const NAME(vector) zero = {0};
    const int count = jt_least(m, n);
    NAME(vector) a[LENGTH][LENGTH], all[LENGTH][LENGTH], tau[LENGTH];
    NAME(mask) is_finite = NAME(gathered)(m, n, used, 0, x, a, NULL);
    for (int i = 0; i < count; i++) {
        NAME(vector) most = zero, rest = zero;
        for (int k = m - 1; k > i; k--) {
            NAME(vector) size = NAME(abs)(a[i][k]);
            most = NAME(select)(size > most, size, most);
        }
        /* as in LAPACK, where any other number, however small, is reflected */
        NAME(mask) is_done = most == 0;
        NAME(vector) first = a[i][i], size = NAME(abs)(first);
        most = NAME(select)(size > most, size, most);
        NAME(mask) is_extreme = ((most < TINY) | (most > 1 / TINY)) & (most != 0);
        NAME(vector) unit = NAME(select)(is_extreme, most, zero + 1);
        if (NAME(any)(is_extreme)) { /* The squares lose digits, or overflow. */
            for (int k = i + 1; k < m; k++) a[i][k] /= unit;
            first /= unit;
        }
        for (int k = i + 1; k < m; k++) rest += a[i][k] * a[i][k];
        NAME(vector) norm = NAME(root)(first * first + rest);
        NAME(vector) beta = NAME(select)(is_done, first, NAME(select)(first < 0, norm, -norm));
        tau[i] = NAME(select)(is_done, zero, (beta - first) / beta);
        NAME(vector) scale = NAME(select)(is_done, zero, 1 / (first - beta));
        a[i][i] = beta * unit;
        for (int k = i + 1; k < m; k++) a[i][k] *= scale;
        for (int c = i + 1; c < n; c++) {
            NAME(vector) sum = a[c][i];
            for (int k = i + 1; k < m; k++) sum += a[i][k] * a[c][k];
            sum *= tau[i];
            a[c][i] -= sum;
            for (int k = i + 1; k < m; k++) a[c][k] -= a[i][k] * sum;
        }
    }
    NAME(reflections)(m, count, width, a, tau, all);
    for (int k = 0; k < used; k++) {
        for (int i = 0; i < m; i++)
            for (int j = 0; j < width; j++)
                q[(k * (int64_t)m + i) * width + j] = ((const WHOLE *)&is_finite)[k] != 0
                    ? ((const T *)&all[j][i])[k] : (T)NAN;
        for (int i = 0; i < width; i++)
            for (int j = 0; j < n; j++)
                r[(k * (int64_t)width + i) * n + j] = i > j ? 0
                    : ((const WHOLE *)&is_finite)[k] != 0 ? ((const T *)&a[j][i])[k] : (T)NAN;
    }
}

/* Rotates columns p and q of a and v in the lanes in which they are not orthogonal, and returns whether
   there is such a lane. */
static TARGET int NAME(rotate)(int rows, int columns, int p, int q, NAME(vector) a[LENGTH][LENGTH],
                               NAME(vector) v[LENGTH][LENGTH]) {
    const NAME(vector) zero = {0}, one = zero + 1;
    NAME(vector) pp = zero, qq = zero, pq = zero;
    for (int r = 0; r < rows; r++) {
        pp += a[p][r] * a[p][r];
        qq += a[q][r] * a[q][r];
        pq += a[p][r] * a[q][r];
    }
    NAME(vector) bound = 8 * EPSILON * NAME(root)(pp) * NAME(root)(qq);
    NAME(mask) turns = (NAME(abs)(pq) > bound) & (NAME(abs)(pq) > TINY * TINY);
    if (!NAME(any)(turns)) return 0;
    NAME(vector) z = (qq - pp) / (2 * NAME(select)(turns, pq, one));
    NAME(vector) size = NAME(abs)(z), root = NAME(root)(1 + z * z);
    NAME(mask) is_far = size > 1 / (EPSILON * EPSILON); /* The square would overflow. */
    NAME(vector) t = NAME(select)(is_far, (T)0.5 / size, 1 / (size + root));
    t = NAME(select)(z < 0, -t, t);
    NAME(vector) c = 1 / NAME(root)(1 + t * t), s = c * t;
    c = NAME(select)(turns, c, one);
    s = NAME(select)(turns, s, zero);
    for (int r = 0; r < rows; r++) {
        NAME(vector) x = a[p][r], y = a[q][r];
        a[p][r] = c * x - s * y;
        a[q][r] = s * x + c * y;
    }
    for (int r = 0; r < columns; r++) {
        NAME(vector) x = v[p][r], y = v[q][r];
        v[p][r] = c * x - s * y;
        v[q][r] = s * x + c * y;
    }
    return 1;
}

/* Computes vectors `done` to `wanted` - 1, orthogonal to each other and to the previous ones. Each is
   the unit vector that is furthest from their span, orthogonalized twice. */
static void NAME(complete)(int rows, int done, int wanted, T vectors[LENGTH][LENGTH]) {
    for (int j = done; j < wanted; j++) {
        T greatest = -1;
        for (int i = 0; i < rows; i++) {
            T left[LENGTH] = {0}, norm = 0;
            left[i] = 1;
            for (int turn = 0; turn < 2; turn++)
                for (int k = 0; k < j; k++) {
                    T inner = 0;
                    for (int r = 0; r < rows; r++) inner += vectors[k][r] * left[r];
                    for (int r = 0; r < rows; r++) left[r] -= inner * vectors[k][r];
                }
            for (int r = 0; r < rows; r++) norm += left[r] * left[r];
            if (norm <= greatest) continue;
            greatest = norm;
            for (int r = 0; r < rows; r++) vectors[j][r] = left[r] / ROOT(norm);
        }
    }
}

/* Computes the singular values of `used` <= LANES matrices in descending order and, if `width` is not
   negative, U, m x width, and V^T, height x n. */
static TARGET void NAME(svd_at_once)(int m, int n, int width, int height, int used, const T *x, T *values,
                                     T *u, T *vt) {
    const NAME(vector) zero = {0};
    const int is_turned = m < n, rows = jt_most(m, n), count = jt_least(m, n);
    const int has_vectors = width >= 0, long_ones = is_turned ? height : width;
    NAME(vector) a[LENGTH][LENGTH], v[LENGTH][LENGTH], up;
    NAME(mask) is_finite = NAME(gathered)(m, n, used, is_turned, x, a, &up);
    union {
        NAME(vector) all;
        T lane[LANES];
    } norm[LENGTH];
    for (int c = 0; c < count; c++)
        for (int r = 0; r < count; r++) v[c][r] = zero + (T)(r == c);
    int turned = 1;
    for (int sweep = 0; sweep < SWEEPS && turned; sweep++) {
        turned = 0;
        for (int p = 0; p < count - 1; p++)
            for (int q = p + 1; q < count; q++)
                turned |= NAME(rotate)(rows, has_vectors ? count : 0, p, q, a, v);
    }
    for (int c = 0; c < count; c++) {
        NAME(vector) sum = zero;
        for (int r = 0; r < rows; r++) sum += a[c][r] * a[c][r];
        norm[c].all = NAME(root)(sum);
    }
    for (int k = 0; k < used; k++) {
        const T back = ((const T *)&up)[k];
        const int is_good = ((const WHOLE *)&is_finite)[k] != 0;
        int order[LENGTH], done = 0;
        T longs[LENGTH][LENGTH];
        for (int i = 0; i < count; i++) {
            int place = i;
            for (; place > 0 && norm[order[place - 1]].lane[k] < norm[i].lane[k]; place--)
                order[place] = order[place - 1];
            order[place] = i;
        }
        for (int j = 0; j < count; j++)
            values[k * (int64_t)count + j] = is_good ? norm[order[j]].lane[k] * back : (T)NAN;
        if (!has_vectors) continue;
        for (; done < count && norm[order[done]].lane[k] > TINY; done++)
            for (int r = 0; r < rows; r++)
                longs[done][r] = ((const T *)&a[order[done]][r])[k] / norm[order[done]].lane[k];
        NAME(complete)(rows, done, long_ones, longs);
        T *left = u + k * (int64_t)m * width, *right = vt + k * (int64_t)height * n;
        for (int j = 0; j < long_ones; j++)
            for (int r = 0; r < rows; r++) {
                T value = is_good ? longs[j][r] : (T)NAN;
                if (is_turned)
                    right[j * n + r] = value;
                else
                    left[r * width + j] = value;
            }
        for (int j = 0; j < count; j++)
            for (int r = 0; r < count; r++) {
                T value = is_good ? ((const T *)&v[order[j]][r])[k] : (T)NAN;
                if (is_turned)
                    left[r * width + j] = value;
                else
                    right[j * n + r] = value;
            }
    }
}

/* Computes the same for any number of matrices. */
static void NAME(qr)(int m, int n, int width, int64_t number, const void *x, void *q, void *r) {
    for (int64_t k = 0; k < number; k += LANES)
        NAME(qr_at_once)(m, n, width, number - k < LANES ? (int)(number - k) : LANES,
                         (const T *)x + k * m * n, (T *)q + k * m * width, (T *)r + k * width * n);
}

static void NAME(svd)(int m, int n, int width, int height, int64_t number, const void *x, void *values,
                      void *u, void *vt) {
    for (int64_t k = 0; k < number; k += LANES)
        NAME(svd_at_once)(m, n, width, height, number - k < LANES ? (int)(number - k) : LANES,
                          (const T *)x + k * m * n, (T *)values + k * jt_least(m, n),
                          width < 0 ? NULL : (T *)u + k * m * width,
                          width < 0 ? NULL : (T *)vt + k * height * n);
}

#undef LENGTH
#undef SWEEPS
