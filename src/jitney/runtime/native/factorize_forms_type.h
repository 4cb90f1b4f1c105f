/* Products with reflections, and the forms by which eigenvalues are found: a part of factorize_type.h. */

/* Multiplies by Q. {m, n, columns of the vectors, number of factors, whether Q is at the left, whether
   it is (conjugate) transposed}; the vectors of the reflections, their factors, c (m x n), the
   product. */
static int32_t NAME(ormqr)(jt_call *call, void **slots, int64_t begin, int64_t end) {
    const int64_t *sizes = slots[0];
    int m = (int)sizes[0], n = (int)sizes[1], columns = (int)sizes[2], count = (int)sizes[3];
    const char *side = sizes[4] ? "L" : "R", *form = !sizes[5] ? "N" : sizeof(T) > sizeof(R) ? "C" : "T";
    int order = sizes[4] ? m : n, info = 0, query = -1;
    int64_t vectors = order * (int64_t)columns, all = m * (int64_t)n;
    if (all == 0) return JT_SUCCEEDED;
    T best = 1;
    if (count > 0)
        ROUTINE(jt_ormqr_, JT_ORMQR)(side, form, &m, &n, &count, &best, &order, &best, &best, &m, &best,
                                     &query, &info);
    int room = NAME(asked)(&best);
    T *a = malloc(sizeof(T) * (vectors + all + room));
    if (a == NULL) return 0;
    T *c = a + vectors, *work = c + all;
    for (int64_t k = begin; k < end; k++) {
        if (count == 0) {
            memcpy(MATRIX(4, k, all), MATRIX(3, k, all), sizeof(T) * all);
            continue;
        }
        NAME(to_columns)(MATRIX(1, k, vectors), order, columns, a, order);
        NAME(to_columns)(MATRIX(3, k, all), m, n, c, m);
        ROUTINE(jt_ormqr_, JT_ORMQR)(side, form, &m, &n, &count, a, &order, MATRIX(2, k, count), c, &m,
                                     work, &room, &info);
        NAME(to_rows)(c, m, m, n, MATRIX(4, k, all));
    }
    free(a);
    return JT_SUCCEEDED;
}

/* Reduces x to Hessenberg form. {n}; x, H with the vectors of the reflections below its subdiagonal,
   their factors. */
static int32_t NAME(hessenberg)(jt_call *call, void **slots, int64_t begin, int64_t end) {
    int n = (int)((const int64_t *)slots[0])[0], info = 0, query = -1, first = 1;
    int64_t all = n * (int64_t)n;
    if (n == 0) return JT_SUCCEEDED;
    T best;
    ROUTINE(jt_gehrd, JT_GEHRD)(&n, &first, &n, &best, &n, &best, &best, &query, &info);
    int room = NAME(asked)(&best);
    T *a = malloc(sizeof(T) * (all + room));
    if (a == NULL) return 0;
    for (int64_t k = begin; k < end; k++) {
        NAME(to_columns)(MATRIX(1, k, all), n, n, a, n);
        ROUTINE(jt_gehrd, JT_GEHRD)(&n, &first, &n, a, &n, MATRIX(3, k, n - 1), a + all, &room, &info);
        NAME(to_rows)(a, n, n, n, MATRIX(2, k, all));
    }
    free(a);
    return JT_SUCCEEDED;
}

/* Reduces x to tridiagonal form. {n, whether the lower triangle is read}; x, the vectors of the
   reflections in its place, the diagonal, the off-diagonal, the factors. */
static int32_t NAME(tridiagonal)(jt_call *call, void **slots, int64_t begin, int64_t end) {
    const int64_t *sizes = slots[0];
    int n = (int)sizes[0], info = 0, query = -1;
    const char *part = sizes[1] ? "L" : "U";
    int64_t all = n * (int64_t)n;
    if (n == 0) return JT_SUCCEEDED;
    T best;
    R real;
    ROUTINE(jt_sytrd, JT_SYTRD)(part, &n, &best, &n, &real, &real, &best, &best, &query, &info);
    int room = NAME(asked)(&best);
    T *a = malloc(sizeof(T) * (all + room));
    if (a == NULL) return 0;
    for (int64_t k = begin; k < end; k++) {
        NAME(to_columns)(MATRIX(1, k, all), n, n, a, n);
        ROUTINE(jt_sytrd, JT_SYTRD)(part, &n, a, &n, (R *)slots[3] + k * n, (R *)slots[4] + k * (n - 1),
                                    MATRIX(5, k, n - 1), a + all, &room, &info);
        NAME(to_rows)(a, n, n, n, MATRIX(2, k, all));
    }
    free(a);
    return JT_SUCCEEDED;
}

/* Computes the Schur form. {n, whether vectors are computed}; x, its Schur form, the Schur vectors. */
static int32_t NAME(schur)(jt_call *call, void **slots, int64_t begin, int64_t end) {
    const int64_t *sizes = slots[0];
    int n = (int)sizes[0], has_vectors = sizes[1] != 0, info = 0, query = -1, chosen = 0;
    const char *job = has_vectors ? "V" : "N";
    int64_t all = n * (int64_t)n;
    if (n == 0) return JT_SUCCEEDED;
    T best;
    R real;
#ifdef IS_COMPLEX
    ROUTINE(jt_gees_complex, JT_GEES)(job, "N", NULL, &n, &best, &n, &chosen, &best, &best, &n, &best,
                                      &query, &real, &chosen, &info);
#else
    ROUTINE(jt_gees, JT_GEES)(job, "N", NULL, &n, &best, &n, &chosen, &real, &real, &best, &n, &best,
                              &query, &chosen, &info);
#endif
    int room = NAME(asked)(&best);
    T *a = malloc(sizeof(T) * (2 * all + 2 * (int64_t)n + room));
    R *reals = malloc(sizeof(R) * n);
    int32_t status = a != NULL && reals != NULL ? JT_SUCCEEDED : 0;
    T *vectors = a + all, *values = vectors + all, *work = values + 2 * n;
    for (int64_t k = begin; k < end && status == JT_SUCCEEDED; k++) {
        T *x = MATRIX(1, k, all);
        info = !(NAME(is_finite)(x, n, 0) && NAME(is_finite)(x, n, 1));
        if (info == 0) {
            NAME(to_columns)(x, n, n, a, n);
#ifdef IS_COMPLEX
            ROUTINE(jt_gees_complex, JT_GEES)(job, "N", NULL, &n, a, &n, &chosen, values, vectors, &n,
                                              work, &room, reals, &chosen, &info);
#else
            ROUTINE(jt_gees, JT_GEES)(job, "N", NULL, &n, a, &n, &chosen, values, values + n, vectors,
                                      &n, work, &room, &chosen, &info);
#endif
        }
        if (info != 0) NAME(spoil)(a, 2 * all);
        NAME(to_rows)(a, n, n, n, MATRIX(2, k, all));
        if (has_vectors) NAME(to_rows)(vectors, n, n, n, MATRIX(3, k, all));
    }
    free(a), free(reals);
    return status;
}

#ifdef IS_COMPLEX
#define COMPLEX T
#else
#define COMPLEX R _Complex

/* Copies real columns to complex vectors, by rows; the parts of a conjugate pair are consecutive
   columns. */
static void NAME(of_pairs)(const R *x, const R *imaginary, int n, COMPLEX *out) {
    for (int j = 0; j < n; j++) {
        int is_pair = imaginary[j] > 0 && j + 1 < n;
        for (int i = 0; i < n; i++) {
            R *at = (R *)(out + i * (int64_t)n + j);
            at[0] = x[j * (int64_t)n + i];
            at[1] = is_pair ? x[(j + 1) * (int64_t)n + i] : 0;
            if (is_pair) at[2] = at[0], at[3] = -at[1];
        }
        j += is_pair;
    }
}
#endif

/* If the largest of some numbers is far from 1, divides them by a power of two; returns its exponent,
   or 0 if they are not divided. `geev` scales matrices as well, but in some versions of LAPACK it
   returns the eigenvalues of the scaled matrix. */
static int NAME(brought_near_one)(R *x, int64_t count) {
    const int far = sizeof(R) == 4 ? 30 : 400;
    R most = 0;
    for (int64_t i = 0; i < count; i++) {
        R size = x[i] < 0 ? -x[i] : x[i];
        if (size > most) most = size;
    }
    int exponent = 0;
    if (most > 0) frexp(most, &exponent);
    if (exponent >= -far && exponent <= far) return 0;
    for (int64_t i = 0; i < count; i++) x[i] = (R)ldexp(x[i], -exponent);
    return exponent;
}

/* Computes eigenvalues of general matrices. {n, whether left and right eigenvectors are computed}; x,
   complex eigenvalues, these eigenvectors in columns. */
static int32_t NAME(eig)(jt_call *call, void **slots, int64_t begin, int64_t end) {
    const int64_t *sizes = slots[0];
    int n = (int)sizes[0], has_left = sizes[1] != 0, has_right = sizes[2] != 0, info = 0, query = -1;
    const char *left = has_left ? "V" : "N", *right = has_right ? "V" : "N";
    int64_t all = n * (int64_t)n;
    if (n == 0) return JT_SUCCEEDED;
    T best;
    R real;
#ifdef IS_COMPLEX
    ROUTINE(jt_geev_complex, JT_GEEV)(left, right, &n, &best, &n, &best, &best, &n, &best, &n, &best,
                                      &query, &real, &info);
#else
    ROUTINE(jt_geev, JT_GEEV)(left, right, &n, &best, &n, &real, &real, &best, &n, &best, &n, &best,
                              &query, &info);
#endif
    int room = NAME(asked)(&best);
    T *a = malloc(sizeof(T) * (3 * all + room));
    R *reals = malloc(sizeof(R) * 2 * n);
    int32_t status = a != NULL && reals != NULL ? JT_SUCCEEDED : 0;
    T *vl = a + all, *vr = vl + all, *work = vr + all;
    for (int64_t k = begin; k < end && status == JT_SUCCEEDED; k++) {
        T *x = MATRIX(1, k, all);
        COMPLEX *values = (COMPLEX *)slots[2] + k * n;
        COMPLEX *lefts = (COMPLEX *)slots[3] + k * all, *rights = (COMPLEX *)slots[3 + has_left] + k * all;
        int exponent = 0;
        info = !(NAME(is_finite)(x, n, 0) && NAME(is_finite)(x, n, 1));
        if (info == 0) {
            NAME(to_columns)(x, n, n, a, n);
            exponent = NAME(brought_near_one)((R *)a, all * (int64_t)(sizeof(T) / sizeof(R)));
#ifdef IS_COMPLEX
            ROUTINE(jt_geev_complex, JT_GEEV)(left, right, &n, a, &n, values, vl, &n, vr, &n, work, &room,
                                              reals, &info);
#else
            ROUTINE(jt_geev, JT_GEEV)(left, right, &n, a, &n, reals, reals + n, vl, &n, vr, &n, work,
                                      &room, &info);
#endif
        }
        if (info != 0) {
            R *parts = (R *)values;
            for (int i = 0; i < 2 * n; i++) parts[i] = (R)NAN;
            NAME(spoil)(vl, 2 * all);
            for (int i = 0; i < n; i++) reals[n + i] = 0;
        }
#ifdef IS_COMPLEX
        if (has_left) NAME(to_rows)(vl, n, n, n, lefts);
        if (has_right) NAME(to_rows)(vr, n, n, n, rights);
#else
        for (int i = 0; i < n && info == 0; i++) {
            R *parts = (R *)(values + i);
            parts[0] = reals[i], parts[1] = reals[n + i];
        }
        if (has_left) NAME(of_pairs)(vl, reals + n, n, lefts);
        if (has_right) NAME(of_pairs)(vr, reals + n, n, rights);
#endif
        R *scaled = (R *)values;
        for (int i = 0; i < 2 * n && exponent != 0; i++) scaled[i] = (R)ldexp(scaled[i], exponent);
    }
    free(a), free(reals);
    return status;
}

#undef COMPLEX
