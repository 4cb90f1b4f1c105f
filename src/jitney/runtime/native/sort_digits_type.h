/* Sorting by digits for elements of type E; included by `sort.h` for each. KEY(e) is what elements go by,
   NAME(name) is unique. Least digits first (Knuth, vol. 3, 5.2.5, algorithm R), so equal keys keep their
   order. */

typedef struct {
    const E *from;
    E *to;
    int64_t n, parts;
    uint64_t least; /* the least key; digits are those of the difference from it */
    int shift;      /* the lowest bit of the digit */
    /* for each part, the number of elements with each digit, then their places */
    int64_t (*places)[JT_DIGITS];
} NAME(pass);

static int32_t NAME(count)(jt_call *call, void *data, int64_t begin, int64_t end) {
    const NAME(pass) *pass = data;
    const E *from = pass->from;
    const uint64_t least = pass->least;
    const int shift = pass->shift;
    (void)call;
    for (int64_t part = begin; part < end; part++) {
        int64_t *places = pass->places[part], stop = jt_part_begin(part + 1, pass->parts, pass->n);
        memset(places, 0, sizeof *pass->places);
        for (int64_t i = jt_part_begin(part, pass->parts, pass->n); i < stop; i++)
            places[((KEY(from[i]) - least) >> shift) & (JT_DIGITS - 1)]++;
    }
    return JT_SUCCEEDED;
}

static int32_t NAME(move)(jt_call *call, void *data, int64_t begin, int64_t end) {
    const NAME(pass) *pass = data;
    const E *from = pass->from;
    E *to = pass->to;
    const uint64_t least = pass->least;
    const int shift = pass->shift;
    (void)call;
    for (int64_t part = begin; part < end; part++) {
        int64_t *places = pass->places[part], stop = jt_part_begin(part + 1, pass->parts, pass->n);
        for (int64_t i = jt_part_begin(part, pass->parts, pass->n); i < stop; i++)
            to[places[((KEY(from[i]) - least) >> shift) & (JT_DIGITS - 1)]++] = from[i];
    }
    return JT_SUCCEEDED;
}

/* Sorts by insertion if elements have to move by at most a few places on average; returns 1 if it has
   sorted. If it stops before the end, equal keys are still in their order. */
static int NAME(insert)(E *x, int64_t n, int64_t moves) {
    for (int64_t i = 1; i < n; i++) {
        E e = x[i];
        int64_t k = i;
        for (; k > 0 && KEY(x[k - 1]) > KEY(e); k--) x[k] = x[k - 1];
        x[k] = e;
        moves -= i - k;
        if (moves < 0) return 0;
    }
    return 1;
}

/* Sorts few elements: sorts runs by insertion, then merges them, without branches that depend on keys.
   The sorted elements are at `*x`, which may be exchanged with `*room`. */
static void NAME(by_merging)(E **x, E **room, int64_t n) {
    for (int64_t i = 0; i < n; i += JT_RUN)
        NAME(insert)(*x + i, n - i < JT_RUN ? n - i : JT_RUN, INT64_MAX);
    for (int64_t width = JT_RUN; width < n; width *= 2) {
        E *to = *room;
        for (int64_t begin = 0; begin < n; begin += 2 * width) {
            const E *a = *x + begin, *b = a + width, *last = *x + n;
            const E *a_end = b < last ? b : last, *b_end = b + width < last ? b + width : last;
            while (a < a_end && b < b_end) {
                int second = KEY(*b) < KEY(*a);
                *to++ = *(second ? b : a);
                a += !second;
                b += second;
            }
            while (a < a_end) *to++ = *a++;
            while (b < b_end) *to++ = *b++;
        }
        E *sorted = *room;
        *room = *x;
        *x = sorted;
    }
}

/* Counts elements by each of several digits, whose number is a constant where this is inlined. */
static inline __attribute__((always_inline)) void NAME(count_all)(
    const E *x, int64_t n, uint64_t least, int low, const int digits, int64_t (*places)[JT_DIGITS]) {
    memset(places, 0, digits * sizeof *places);
    for (int64_t i = 0; i < n; i++) {
        uint64_t key = (KEY(x[i]) - least) >> low;
#pragma GCC unroll 8
        for (int k = 0; k < digits; k++) places[k][(key >> (k * JT_DIGIT_BITS)) & (JT_DIGITS - 1)]++;
    }
}

/* Replaces the number of elements with each digit by the place of the first of them; returns the
   largest number. */
static int64_t NAME(place)(int64_t (*places)[JT_DIGITS], int64_t parts) {
    int64_t place = 0, most = 0;
    for (int digit = 0; digit < JT_DIGITS; digit++) {
        int64_t begin = place;
        for (int64_t part = 0; part < parts; part++) {
            int64_t count = places[part][digit];
            places[part][digit] = place;
            place += count;
        }
        most = most > place - begin ? most : place - begin;
    }
    return most;
}

/* Sorts by the digits from bit `low` to bit `high` of the differences of keys from `least`, one digit
   after the other, in parts that threads share. `x` and `room` are exchanged with every digit. */
static int32_t NAME(by_digits)(jt_call *call, E **x, E **room, int64_t n, int64_t parts, uint64_t least,
                               int low, int high, int64_t (*places)[JT_DIGITS]) {
    /* A single thread counts all digits in one pass, as the counts do not depend on the order of
       elements. */
    if (parts == 1) {
        switch ((high - low + JT_DIGIT_BITS - 1) / JT_DIGIT_BITS) {
        case 1: NAME(count_all)(*x, n, least, low, 1, places); break;
        case 2: NAME(count_all)(*x, n, least, low, 2, places); break;
        case 3: NAME(count_all)(*x, n, least, low, 3, places); break;
        case 4: NAME(count_all)(*x, n, least, low, 4, places); break;
        default: NAME(count_all)(*x, n, least, low, 8, places);
        }
    }
    for (int shift = low; shift < high; shift += JT_DIGIT_BITS) {
        NAME(pass) pass = {*x, *room, n, parts, least, shift, places};
        if (parts == 1)
            pass.places += (shift - low) / JT_DIGIT_BITS;
        else if (jt_sort_loop(call, NAME(count), &pass, parts, 1) != JT_SUCCEEDED)
            return 0;
        if (NAME(place)(pass.places, parts) == n) continue; /* All elements have this digit. */
        if (jt_sort_loop(call, NAME(move), &pass, parts, 1) != JT_SUCCEEDED) return 0;
        *x = pass.to;
        *room = (E *)pass.from;
    }
    return JT_SUCCEEDED;
}

/* Sorts n elements of `*x` by their keys; they are at `*x` afterwards, which `*room` may have been.

   Long keys go by their highest digits that differ, which leave little to do for an insertion sort; if
   that is not so, by all digits. */
static int32_t NAME(sort)(jt_call *call, E **x, E **room, int64_t n,
                          int64_t (*places)[JT_DIGITS]) {
    if (n <= JT_MERGED) {
        NAME(by_merging)(x, room, n);
        return JT_SUCCEEDED;
    }
    int64_t parts = jt_sort_threads(call) < 2 ? 1 : jt_parts(n);
    uint64_t differ = 0, first_key = KEY((*x)[0]), least = first_key, most = first_key;
    for (int64_t i = 0; i < n; i++) {
        uint64_t key = KEY((*x)[i]);
        differ |= key ^ first_key;
        least = key < least ? key : least;
        most = key > most ? key : most;
    }
    if (!differ) return JT_SUCCEEDED;
    int high = 64 - __builtin_clzll(most - least), first = __builtin_ctzll(differ);
    if (high - first > JT_ENOUGH_BITS) {
        int begin = high - JT_ENOUGH_BITS;
        if (NAME(by_digits)(call, x, room, n, parts, least, begin, high, places) != JT_SUCCEEDED) return 0;
        if (NAME(insert)(*x, n, JT_MOVES * n)) return JT_SUCCEEDED;
    }
    return NAME(by_digits)(call, x, room, n, parts, least, first, high, places);
}
