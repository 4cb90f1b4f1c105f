/* Passes of transforms, one for each factor of a length, over elements that are vectors V of lines; included
   by `fourier_type.h`. `roots` has exp(-2 pi i k / n), parts side by side, of the length n of the transform.

   A pass of complex numbers makes of n / `ip` transforms that lie `ido` apart

       to[i + ido (k + l1 p)] = w^(i p) sum_j from[i + ido (j + ip k)] exp(-2 pi i j p / ip)

   with w = exp(-2 pi i / (ido ip)), i < ido, k < l1, ido ip l1 = n. There is no pass back: what has its
   parts exchanged before and after is transformed back. A spectrum of m real numbers is kept as m numbers:
   element 0, then real and imaginary part of each next one, of the last one of an even m the real part. */

typedef struct {
    V r, i;
} C;

JT_INLINE TARGET V NAME(nothing)(void) { return (V){0}; }
JT_INLINE TARGET C NAME(add)(C a, C b) { return (C){a.r + b.r, a.i + b.i}; }
JT_INLINE TARGET C NAME(sub)(C a, C b) { return (C){a.r - b.r, a.i - b.i}; }
/* a - i b, a + i b */
JT_INLINE TARGET C NAME(sub_i)(C a, C b) { return (C){a.r + b.i, a.i - b.r}; }
JT_INLINE TARGET C NAME(add_i)(C a, C b) { return (C){a.r - b.i, a.i + b.r}; }
JT_INLINE TARGET C NAME(times)(C a, T re, T im) {
    return (C){a.r * re - a.i * im, a.r * im + a.i * re};
}
JT_INLINE TARGET C NAME(scaled)(C a, T factor) { return (C){a.r * factor, a.i * factor}; }

JT_INLINE TARGET void NAME(four)(C *a) {
    C b0 = NAME(add)(a[0], a[2]), b1 = NAME(sub)(a[0], a[2]);
    C b2 = NAME(add)(a[1], a[3]), b3 = NAME(sub)(a[1], a[3]);
    a[0] = NAME(add)(b0, b2);
    a[1] = NAME(sub_i)(b1, b3);
    a[2] = NAME(sub)(b0, b2);
    a[3] = NAME(add_i)(b1, b3);
}

JT_INLINE TARGET void NAME(eight)(C *a) {
    C even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
    NAME(four)(even);
    NAME(four)(odd);
    odd[1] = NAME(scaled)(NAME(sub_i)(odd[1], odd[1]), (T)0.70710678118654752440);
    odd[3] = NAME(scaled)(NAME(add_i)(odd[3], odd[3]), (T)-0.70710678118654752440);
    a[0] = NAME(add)(even[0], odd[0]);
    a[1] = NAME(add)(even[1], odd[1]);
    a[2] = NAME(sub_i)(even[2], odd[2]);
    a[3] = NAME(add)(even[3], odd[3]);
    a[4] = NAME(sub)(even[0], odd[0]);
    a[5] = NAME(sub)(even[1], odd[1]);
    a[6] = NAME(add_i)(even[2], odd[2]);
    a[7] = NAME(sub)(even[3], odd[3]);
}

/* Sums of products of `s` with cosines of p j / ip turns, added to `even`, and of `d` with sines, for j = 1,
   2 ... The order is pocketfft's, with up to `most` products added to each other first: sums that overflow
   do so here and there alike. `roots` have cosines and negative sines; `twice` is a factor of the sines. */
JT_INLINE TARGET void NAME(sums)(const int ip, const int p, const int most, const V *s, const V *d,
                                 const T *roots, int64_t step, const T twice, V *even, V *odd) {
    const int pairs = (ip - 1) / 2;
    int at = p, j = 1;
    V e = *even + s[0] * roots[2 * at * step], o = d[0] * (roots[2 * at * step + 1] * twice);
#define JT_NEXT                                                                                    \
    at = at + p < ip ? at + p : at + p - ip;                                                       \
    c = roots[2 * at * step], n = roots[2 * at * step + 1] * twice
    T c, n;
    if (pairs > 1) {
        JT_NEXT;
        e += s[1] * c;
        o += d[1] * n;
        j = 2;
    }
#pragma GCC unroll 8
    for (int last = most < 4 ? 0 : pairs - 3; j < last; j += 4) {
        JT_NEXT;
        V f = s[j] * c, g = d[j] * n;
#pragma GCC unroll 4
        for (int k = 1; k < 4; k++) {
            JT_NEXT;
            f += s[j + k] * c;
            g += d[j + k] * n;
        }
        e += f;
        o += g;
    }
#pragma GCC unroll 8
    for (int last = most < 2 ? 0 : pairs - 1; j < last; j += 2) {
        JT_NEXT;
        V f = s[j] * c, g = d[j] * n;
        JT_NEXT;
        e += f + s[j + 1] * c;
        o += g + d[j + 1] * n;
    }
#pragma GCC unroll 8
    for (; j < pairs; j++) {
        JT_NEXT;
        e += s[j] * c;
        o += d[j] * n;
    }
#undef JT_NEXT
    *even = e;
    *odd = o;
}

/* Of an odd number of elements: sums and differences of elements j and ip - j, which cosines and sines
   belong to. `step` is n / ip. */
JT_INLINE TARGET void NAME(odd)(const int ip, C *a, const T *roots, int64_t step) {
    const int pairs = (ip - 1) / 2, most = ip <= 11 ? 1 : 2;
    V sr[JT_LARGEST_FACTOR / 2], si[JT_LARGEST_FACTOR / 2];
    V dr[JT_LARGEST_FACTOR / 2], di[JT_LARGEST_FACTOR / 2];
    C first = a[0], total = a[0];
#pragma GCC unroll 8
    for (int j = 0; j < pairs; j++) {
        C s = NAME(add)(a[j + 1], a[ip - 1 - j]), d = NAME(sub)(a[j + 1], a[ip - 1 - j]);
        total = NAME(add)(total, s);
        sr[j] = s.r, si[j] = s.i, dr[j] = d.r, di[j] = d.i;
    }
    a[0] = total;
#pragma GCC unroll 8
    for (int p = 1; p <= pairs; p++) {
        C even = first, odd;
        NAME(sums)(ip, p, most, sr, dr, roots, step, 1, &even.r, &odd.r);
        NAME(sums)(ip, p, most, si, di, roots, step, 1, &even.i, &odd.i);
        a[p] = NAME(add_i)(even, odd); /* The sines are negative. */
        a[ip - p] = NAME(sub_i)(even, odd);
    }
}

static TARGET __attribute__((noinline)) void NAME(any_odd)(int ip, C *a, const T *roots, int64_t step) {
    NAME(odd)(ip, a, roots, step);
}

JT_INLINE TARGET void NAME(few)(const int ip, C *a, const T *roots, int64_t step) {
    if (ip == 2) {
        C sum = NAME(add)(a[0], a[1]);
        a[1] = NAME(sub)(a[0], a[1]);
        a[0] = sum;
    } else if (ip == 4) {
        NAME(four)(a);
    } else if (ip == 8) {
        NAME(eight)(a);
    } else if (__builtin_constant_p(ip)) {
        NAME(odd)(ip, a, roots, step);
    } else {
        NAME(any_odd)(ip, a, roots, step);
    }
}

JT_INLINE TARGET void NAME(pass)(const int ip, int64_t ido, int64_t l1, const C *from, C *to,
                                 const T *roots) {
    C a[JT_LARGEST_FACTOR];
    for (int64_t i = 0; i < ido; i++)
        for (int64_t k = 0; k < l1; k++) {
#pragma GCC unroll 16
            for (int j = 0; j < ip; j++) a[j] = from[i + ido * (j + ip * k)];
            NAME(few)(ip, a, roots, ido * l1);
            to[i + ido * k] = a[0];
#pragma GCC unroll 16
            for (int p = 1; p < ip; p++) {
                const T *root = roots + 2 * i * p * l1;
                to[i + ido * (k + l1 * p)] = i ? NAME(times)(a[p], root[0], root[1]) : a[p];
            }
        }
}

/* Performs a pass over real numbers: `ip` transforms of `ido` elements become one of `ip` times as many
   elements. */
JT_INLINE TARGET void NAME(pass_of_real)(const int ip, int64_t ido, int64_t l1, const V *from, V *to,
                                         const T *roots) {
    int64_t m = ip * ido, step = ido * l1;
    C a[JT_LARGEST_FACTOR];
    for (int64_t k = 0; k < l1; k++) {
        V *y = to + m * k;
        const V *x = from + ido * k;
        int64_t apart = ido * l1; /* the distance in x from one transform to the next */
        if (ip == 2) {
            y[0] = x[0] + x[apart];
            y[m - 1] = x[0] - x[apart];
        } else if (ip == 4) {
            V odds = x[apart] + x[3 * apart], evens = x[0] + x[2 * apart];
            y[0] = evens + odds;
            y[m - 1] = evens - odds;
            y[2 * ido - 1] = x[0] - x[2 * apart];
            y[2 * ido] = x[3 * apart] - x[apart];
        } else {
            V s[JT_LARGEST_FACTOR / 2], d[JT_LARGEST_FACTOR / 2], total = x[0];
            const int pairs = (ip - 1) / 2;
#pragma GCC unroll 8
            for (int j = 0; j < pairs; j++) {
                s[j] = x[(j + 1) * apart] + x[(ip - 1 - j) * apart];
                d[j] = x[(j + 1) * apart] - x[(ip - 1 - j) * apart];
                total += s[j];
            }
            y[0] = total;
#pragma GCC unroll 8
            for (int p = 1; p <= pairs; p++) {
                V even = x[0], odd;
                NAME(sums)(ip, p, ip > 5 ? 4 : 1, s, d, roots, step, 1, &even, &odd);
                y[2 * ido * p - 1] = even;
                y[2 * ido * p] = odd;
            }
        }
        for (int64_t i = 1; i < (ido + 1) / 2; i++) {
#pragma GCC unroll 16
            for (int j = 0; j < ip; j++) {
                const T *root = roots + 2 * i * j * l1;
                a[j] = (C){x[j * apart + 2 * i - 1], x[j * apart + 2 * i]};
                if (j) a[j] = NAME(times)(a[j], root[0], root[1]);
            }
            NAME(few)(ip, a, roots, step);
#pragma GCC unroll 16
            for (int p = 0; p < ip; p++) {
                int64_t at = i + ido * p;
                if (p < (ip + 1) / 2) {
                    y[2 * at - 1] = a[p].r;
                    y[2 * at] = a[p].i;
                } else {
                    y[2 * (m - at) - 1] = a[p].r;
                    y[2 * (m - at)] = -a[p].i;
                }
            }
        }
        if (ido % 2 == 0 && ip == 2) {
            y[ido - 1] = x[ido - 1];
            y[ido] = -x[apart + ido - 1];
        } else if (ido % 2 == 0 && ip == 4) {
            V x0 = x[ido - 1], x1 = x[apart + ido - 1], x2 = x[2 * apart + ido - 1];
            V x3 = x[3 * apart + ido - 1];
            V re = (x1 - x3) * (T)0.70710678118654752440, im = (x1 + x3) * (T)-0.70710678118654752440;
            y[ido - 1] = x0 + re;
            y[ido] = im - x2;
            y[3 * ido - 1] = x0 - re;
            y[3 * ido] = im + x2;
        }
    }
}

/* The mirror image of `pass_of_real`. */
JT_INLINE TARGET void NAME(pass_to_real)(const int ip, int64_t ido, int64_t l1, const V *from, V *to,
                                         const T *roots) {
    int64_t m = ip * ido, step = ido * l1;
    C a[JT_LARGEST_FACTOR];
    for (int64_t k = 0; k < l1; k++) {
        const V *y = from + m * k;
        V *x = to + ido * k;
        int64_t apart = ido * l1;
        if (ip == 2) {
            x[0] = y[0] + y[m - 1];
            x[apart] = y[0] - y[m - 1];
        } else if (ip == 4) {
            V sum = y[0] + y[m - 1], difference = y[0] - y[m - 1];
            V re = y[2 * ido - 1] + y[2 * ido - 1], im = y[2 * ido] + y[2 * ido];
            x[0] = sum + re;
            x[apart] = difference - im;
            x[2 * apart] = sum - re;
            x[3 * apart] = difference + im;
        } else {
            V re[JT_LARGEST_FACTOR / 2], im[JT_LARGEST_FACTOR / 2], total = y[0];
            const int pairs = (ip - 1) / 2;
            /* For three elements, the sines are doubled, so that fewer sums overflow. */
            const T twice_y = ip == 3 ? 1 : 2, twice = ip == 3 ? 2 : 1;
#pragma GCC unroll 8
            for (int p = 0; p < pairs; p++) {
                re[p] = y[2 * ido * (p + 1) - 1] + y[2 * ido * (p + 1) - 1];
                im[p] = y[2 * ido * (p + 1)] * twice_y;
                total += re[p];
            }
            x[0] = total;
#pragma GCC unroll 8
            for (int j = 1; j <= pairs; j++) {
                V even = y[0], odd;
                NAME(sums)(ip, j, ip > 5 ? 4 : 1, re, im, roots, step, twice, &even, &odd);
                x[j * apart] = even + odd;
                x[(ip - j) * apart] = even - odd;
            }
        }
        for (int64_t i = 1; i < (ido + 1) / 2; i++) {
            /* The same with exchanged parts. */
#pragma GCC unroll 16
            for (int p = 0; p < ip; p++) {
                int64_t at = i + ido * p;
                if (p < (ip + 1) / 2)
                    a[p] = (C){y[2 * at], y[2 * at - 1]};
                else
                    a[p] = (C){-y[2 * (m - at)], y[2 * (m - at) - 1]};
            }
            NAME(few)(ip, a, roots, step);
#pragma GCC unroll 16
            for (int j = 0; j < ip; j++) {
                const T *root = roots + 2 * i * j * l1;
                if (j) a[j] = NAME(times)(a[j], root[0], root[1]);
                x[j * apart + 2 * i - 1] = a[j].i;
                x[j * apart + 2 * i] = a[j].r;
            }
        }
        if (ido % 2 == 0 && ip == 2) {
            x[ido - 1] = y[ido - 1] + y[ido - 1];
            x[apart + ido - 1] = (T)-2 * y[ido];
        } else if (ido % 2 == 0 && ip == 4) {
            V sum = y[ido - 1] + y[3 * ido - 1], difference = y[ido - 1] - y[3 * ido - 1];
            V im = y[ido] + y[3 * ido], other = y[3 * ido] - y[ido];
            x[ido - 1] = sum + sum;
            x[apart + ido - 1] = (difference - im) * (T)1.41421356237309504880;
            x[2 * apart + ido - 1] = other + other;
            x[3 * apart + ido - 1] = (difference + im) * (T)-1.41421356237309504880;
        }
    }
}

#define JT_PASS(ip, pass, type)                                                                    \
    static TARGET __attribute__((noinline)) void NAME(pass##_##ip)(                                \
        int64_t ido, int64_t l1, const type *from, type *to, const T *roots) {                     \
        NAME(pass)(ip, ido, l1, from, to, roots);                                                  \
    }
JT_PASS(2, pass, C)
JT_PASS(3, pass, C)
JT_PASS(4, pass, C)
JT_PASS(5, pass, C)
JT_PASS(7, pass, C)
JT_PASS(8, pass, C)
JT_PASS(11, pass, C)
JT_PASS(13, pass, C)
JT_PASS(2, pass_of_real, V)
JT_PASS(3, pass_of_real, V)
JT_PASS(4, pass_of_real, V)
JT_PASS(5, pass_of_real, V)
JT_PASS(7, pass_of_real, V)
JT_PASS(2, pass_to_real, V)
JT_PASS(3, pass_to_real, V)
JT_PASS(4, pass_to_real, V)
JT_PASS(5, pass_to_real, V)
JT_PASS(7, pass_to_real, V)
#undef JT_PASS

static TARGET __attribute__((noinline)) void NAME(any_pass)(int64_t ip, int64_t ido, int64_t l1,
                                                            const C *from, C *to, const T *roots) {
    NAME(pass)((int)ip, ido, l1, from, to, roots);
}
static TARGET __attribute__((noinline)) void NAME(any_pass_of_real)(int64_t ip, int64_t ido, int64_t l1,
                                                                    const V *from, V *to, const T *roots) {
    NAME(pass_of_real)((int)ip, ido, l1, from, to, roots);
}
static TARGET __attribute__((noinline)) void NAME(any_pass_to_real)(int64_t ip, int64_t ido, int64_t l1,
                                                                    const V *from, V *to, const T *roots) {
    NAME(pass_to_real)((int)ip, ido, l1, from, to, roots);
}

#define JT_CASE(ip, pass)                                                                          \
    case ip: NAME(pass##_##ip)(ido, l1, from, to, roots); break;

/* Performs all passes over n complex numbers at `x`, with the workspace `y`; returns the one of the two
   that contains the result. */
static TARGET C *NAME(passes)(const jt_fourier *job, int64_t n, C *x, C *y, const T *roots) {
    C *from = x, *to = y;
    int64_t l1 = 1;
    for (int64_t f = 0; f < job->radices; f++) {
        int64_t ip = job->radix[f], ido = n / (l1 * ip);
        switch (ip) {
            JT_CASE(2, pass)
            JT_CASE(3, pass)
            JT_CASE(4, pass)
            JT_CASE(5, pass)
            JT_CASE(7, pass)
            JT_CASE(8, pass)
            JT_CASE(11, pass)
            JT_CASE(13, pass)
            default: NAME(any_pass)(ip, ido, l1, from, to, roots);
        }
        l1 *= ip;
        C *other = from;
        from = to;
        to = other;
    }
    return from;
}

static TARGET V *NAME(passes_of_real)(const jt_fourier *job, int64_t n, V *x, V *y, const T *roots) {
    V *from = x, *to = y;
    int64_t l1 = n;
    for (int64_t f = job->radices - 1; f >= 0; f--) {
        int64_t ip = job->radix[f], ido = n / l1;
        l1 /= ip;
        switch (ip) {
            JT_CASE(2, pass_of_real)
            JT_CASE(3, pass_of_real)
            JT_CASE(4, pass_of_real)
            JT_CASE(5, pass_of_real)
            JT_CASE(7, pass_of_real)
            default: NAME(any_pass_of_real)(ip, ido, l1, from, to, roots);
        }
        V *other = from;
        from = to;
        to = other;
    }
    return from;
}

static TARGET V *NAME(passes_to_real)(const jt_fourier *job, int64_t n, V *x, V *y, const T *roots) {
    V *from = x, *to = y;
    int64_t l1 = 1;
    for (int64_t f = 0; f < job->radices; f++) {
        int64_t ip = job->radix[f], ido = n / (l1 * ip);
        switch (ip) {
            JT_CASE(2, pass_to_real)
            JT_CASE(3, pass_to_real)
            JT_CASE(4, pass_to_real)
            JT_CASE(5, pass_to_real)
            JT_CASE(7, pass_to_real)
            default: NAME(any_pass_to_real)(ip, ido, l1, from, to, roots);
        }
        l1 *= ip;
        V *other = from;
        from = to;
        to = other;
    }
    return from;
}
#undef JT_CASE
