/* Convolutions for one type of elements T and one set of instructions; included by `convolve_types.h`.

   VECTOR is the number of bytes of a vector, ROWS of the rows of the largest tile; TARGET makes the
   compiler use the instructions; NAME(name) is unique. */

#define LANES ((int64_t)(VECTOR / sizeof(T)))

typedef T NAME(vector) __attribute__((vector_size(VECTOR), aligned(sizeof(T)), may_alias));

/* Consecutive terms of a sum: products of the elements of x from `a` on with the vectors of w from `b`
   on. */
typedef struct {
    const T *a, *b;
} NAME(run);

/* Computes c[m, :] (+)= the sum over runs and k < length of a[m * row + k * step] * b[k * pitch + :],
   for m < `rows` and `vectors` vectors, of which the first `columns` elements are stored. `rows` and
   `vectors` are constants where this function is inlined, so that the sums are in registers. */
JT_INLINE TARGET void NAME(tile)(const int rows, const int vectors, const NAME(run) * runs, int64_t n_runs,
                                 int64_t length, int64_t row, int64_t step, int64_t pitch, T *c,
                                 int64_t c_row, int64_t columns, int adds) {
    NAME(vector) sum[ROWS][2];
    for (int m = 0; m < rows; m++)
        for (int j = 0; j < vectors; j++) sum[m][j] = (NAME(vector)){0};
    for (int64_t r = 0; r < n_runs; r++) {
        const T *a = runs[r].a, *b = runs[r].b;
        for (int64_t k = 0; k < length; k++) {
            NAME(vector) w[2];
            for (int j = 0; j < vectors; j++) w[j] = *(const NAME(vector) *)(b + j * LANES);
#pragma GCC unroll 16
            for (int m = 0; m < rows; m++)
                for (int j = 0; j < vectors; j++) sum[m][j] += a[m * row] * w[j];
            a += step;
            b += pitch;
        }
    }
    if (columns == vectors * LANES) {
        for (int m = 0; m < rows; m++)
            for (int j = 0; j < vectors; j++) {
                NAME(vector) *to = (NAME(vector) *)(c + m * c_row + j * LANES);
                if (adds)
                    *to += sum[m][j];
                else
                    *to = sum[m][j];
            }
        return;
    }
    for (int m = 0; m < rows; m++) {
        T part[2 * VECTOR / sizeof(T)] = {0};
        for (int j = 0; j < vectors; j++) *(NAME(vector) *)(part + j * LANES) = sum[m][j];
        for (int64_t i = 0; i < columns; i++)
            c[m * c_row + i] = adds ? c[m * c_row + i] + part[i] : part[i];
    }
}

/* The functions for tiles of each number of rows. The rows are either pixels, `row` elements apart,
   whose channels are adjacent, or adjacent channels of pixels that are `step` elements apart. */
#define TILE(name, row_, step_)                                                                    \
    static TARGET void NAME(name)(int rows, int vectors, const NAME(run) * runs, int64_t n_runs,   \
                                  int64_t length, int64_t apart, int64_t pitch, T *c,              \
                                  int64_t c_row, int64_t columns, int adds) {                      \
        switch (2 * rows + vectors - 1) {                                                          \
            EACH(row_, step_)                                                                      \
        }                                                                                          \
    }
#define CASE(rows, vectors, row_, step_)                                                           \
    case 2 * rows + vectors - 1:                                                                   \
        NAME(tile)(rows, vectors, runs, n_runs, length, row_, step_, pitch, c, c_row, columns, adds); \
        break;
#define BOTH(rows, row_, step_) CASE(rows, 1, row_, step_) CASE(rows, 2, row_, step_)
#define FIVE(row_, step_)                                                                          \
    BOTH(1, row_, step_) BOTH(2, row_, step_) BOTH(3, row_, step_) BOTH(4, row_, step_)            \
    BOTH(5, row_, step_)
#if ROWS == 5
#define EACH(row_, step_) FIVE(row_, step_)
#elif ROWS == 6
#define EACH(row_, step_) FIVE(row_, step_) BOTH(6, row_, step_)
#else
#define EACH(row_, step_)                                                                          \
    FIVE(row_, step_) BOTH(6, row_, step_) BOTH(7, row_, step_) BOTH(8, row_, step_)               \
    BOTH(9, row_, step_) BOTH(10, row_, step_) BOTH(11, row_, step_) BOTH(12, row_, step_)
#endif

TILE(pixels, apart, 1)
TILE(channels, 1, apart)

#undef TILE
#undef CASE
#undef BOTH
#undef FIVE
#undef EACH

/* Returns the width of the panels, in vectors, for a number of features. */
static inline int64_t NAME(width)(int64_t features) { return features > LANES ? 2 : 1; }

/* Copies rows of w, `pitch` elements apart, to rows of `wide`, with zeros after the last of `columns`
   elements. */
static TARGET void NAME(pack)(const T *w, int64_t count, int64_t pitch, int64_t columns, int64_t wide,
                              T *panel) {
    for (int64_t k = 0; k < count; k++, w += pitch, panel += wide) {
        memcpy(panel, w, columns * sizeof(T));
        memset(panel + columns, 0, (wide - columns) * sizeof(T));
    }
}

/* Copies a row of x with the zeros around it: pixels `first` to `first + count` of an image row `x`. */
static TARGET void NAME(padded)(const T *x, int64_t extent, int64_t channels, int64_t first,
                                int64_t count, T *to) {
    int64_t before = jt_min64(jt_max64(-first, 0), count);
    int64_t here = jt_max64(jt_min64(extent - first, count) - before, 0);
    memset(to, 0, before * channels * sizeof(T));
    memcpy(to + before * channels, x + (first + before) * channels, here * channels * sizeof(T));
    memset(to + (before + here) * channels, 0, (count - before - here) * channels * sizeof(T));
}

/* The workspace of one item of `forward`. */
typedef struct {
    T *lines, *zeros;
    int64_t *tags;  /* the row of x that each line contains, or -1 */
    const T **base; /* for each tap of the leading axes, the row that it reads */
    NAME(run) * runs;
    int64_t n_lines, pixels; /* `pixels` is the number of pixels of a line */
} NAME(room);

/* Sets `base` for the output row (n, od, oh): to rows of x that do not overlap the padding, else to
   lines. */
static TARGET void NAME(find_rows)(const jt_window *s, const T *x, NAME(room) * room, int64_t row) {
    int64_t oh = row % s->out[1], od = row / s->out[1] % s->out[0], n = row / (s->out[1] * s->out[0]);
    int64_t size = room->pixels * s->channels;
    int is_whole = s->low[2] <= 0 && room->pixels - s->low[2] <= s->in[2];
    int64_t span = (s->window[1] - 1) * s->dilation[1] + 1;
    for (int64_t kd = 0; kd < s->window[0]; kd++)
        for (int64_t kh = 0; kh < s->window[1]; kh++) {
            int64_t d = od * s->stride[0] + kd * s->dilation[0] - s->low[0];
            int64_t h = oh * s->stride[1] + kh * s->dilation[1] - s->low[1];
            const T **to = room->base + kd * s->window[1] + kh;
            if (d < 0 || d >= s->in[0] || h < 0 || h >= s->in[1]) {
                *to = room->zeros;
                continue;
            }
            int64_t tag = (n * s->in[0] + d) * s->in[1] + h;
            const T *from = x + tag * s->in[2] * s->channels;
            if (is_whole) {
                *to = from - s->low[2] * s->channels;
                continue;
            }
            int64_t line = kd * span + h % span;
            if (room->tags[line] != tag) {
                NAME(padded)(from, s->in[2], s->channels, -s->low[2], room->pixels,
                             room->lines + line * size);
                room->tags[line] = tag;
            }
            *to = room->lines + line * size;
        }
}

/* Computes one row of the result from panels [first, last) of w. */
static TARGET void NAME(forward_row)(const jt_window *s, const NAME(room) * room, const T *w, T *out,
                                     int64_t first, int64_t last) {
    const int64_t panel = JT_PANEL_ROW / sizeof(T);
    int64_t in_group = s->channels / s->groups, out_group = s->features / s->groups;
    int64_t panels = jt_up(out_group, panel), taps = s->window[0] * s->window[1], deep = s->window[2];
    /* Neighboring taps of all channels are one stretch of a row. */
    int joined = s->groups == 1 && s->dilation[2] == 1;
    int64_t length = joined ? deep * in_group : in_group, n_runs = joined ? taps : taps * deep;
    int64_t width = s->out[2], parts = jt_up(width, ROWS), depth = taps * deep * in_group;
    for (int64_t part = 0, pixel = 0; part < parts; part++) {
        int rows = (int)jt_up(width - pixel, parts - part);
        for (int64_t p = first; p < last; p++) {
            int64_t group = p / panels, feature = p % panels * panel;
            int64_t at = pixel * s->stride[2] * s->channels + group * in_group;
            for (int64_t r = 0; r < n_runs; r++) {
                int64_t tap = joined ? r : r / deep, k = joined ? 0 : r % deep;
                room->runs[r].a = room->base[tap] + at + k * s->dilation[2] * s->channels;
                room->runs[r].b = w + (p * depth + r * length) * panel;
            }
            int64_t stop = jt_min64(feature + panel, out_group);
            while (feature < stop) {
                int64_t vectors = NAME(width)(stop - feature), wide = vectors * LANES;
                NAME(pixels)(rows, (int)vectors, room->runs, n_runs, length, s->stride[2] * s->channels,
                             panel, out + pixel * s->features + group * out_group + feature, s->features,
                             jt_min64(wide, stop - feature), 0);
                feature += wide;
                for (int64_t r = 0; r < n_runs; r++) room->runs[r].b += wide;
            }
        }
        pixel += rows;
    }
}

static TARGET int32_t NAME(forward)(void *call, void **slots, int64_t begin, int64_t end) {
    (void)call;
    const jt_window *s = slots[0];
    const T *x = slots[1], *w = slots[2];
    T *out = slots[3];
    int64_t in_group = s->channels / s->groups, out_group = s->features / s->groups;
    int64_t taps = s->window[0] * s->window[1], depth = taps * s->window[2] * in_group;
    int64_t panels = s->groups * jt_up(out_group, JT_PANEL_ROW / sizeof(T));
    int64_t at_once = jt_max64(1, JT_PANEL_BYTES / (depth * JT_PANEL_ROW));
    for (int64_t item = begin; item < end; item++) {
        NAME(room) room;
        room.n_lines = s->window[0] * ((s->window[1] - 1) * s->dilation[1] + 1);
        room.pixels = (s->out[2] - 1) * s->stride[2] + (s->window[2] - 1) * s->dilation[2] + 1;
        room.zeros = (T *)((char *)slots[4] + item * s->room);
        room.lines = room.zeros + room.pixels * s->channels;
        uintptr_t next = (uintptr_t)(room.lines + room.n_lines * room.pixels * s->channels);
        room.tags = (int64_t *)((next + 7) / 8 * 8);
        room.base = (const T **)(room.tags + room.n_lines);
        room.runs = (NAME(run) *)(room.base + taps);
        memset(room.zeros, 0, room.pixels * s->channels * sizeof(T));
        for (int64_t i = 0; i < room.n_lines; i++) room.tags[i] = -1;
        int64_t rows = s->batch * s->out[0] * s->out[1];
        int64_t first = item * s->rows, last = jt_min64(first + s->rows, rows);
        for (int64_t p = 0; p < panels; p += at_once)
            for (int64_t row = first; row < last; row++) {
                NAME(find_rows)(s, x, &room, row);
                NAME(forward_row)(s, &room, w, out + row * s->out[2] * s->features, p,
                                  jt_min64(p + at_once, panels));
            }
    }
    return 1;
}

/* Adds to c the products of rows [first, last) of w, whose pixels are `pitch` elements apart, with x,
   for one tap. */
static TARGET void NAME(filter_tap)(const jt_window *s, const T *x, const T *w, int64_t pitch,
                                    int64_t columns, int vectors, const int64_t *tap, int64_t first,
                                    int64_t last, NAME(run) * runs, T *c) {
    int64_t in_group = s->channels / s->groups, parts = jt_up(in_group, ROWS);
    int64_t at = tap[2] * s->stride[2] - s->low[2], far = s->dilation[2];
    /* Finds the pixels o with 0 <= o * far + at < extent. */
    int64_t from = at < 0 ? jt_up(-at, far) : 0;
    int64_t to = at >= s->in[2] ? 0 : jt_min64(jt_up(s->in[2] - at, far), s->out[2]);
    int64_t n_runs = 0;
    if (to <= from) return;
    for (int64_t row = first; row < last; row++) {
        int64_t oh = row % s->out[1], od = row / s->out[1] % s->out[0], n = row / (s->out[1] * s->out[0]);
        int64_t d = od * s->dilation[0] + tap[0] * s->stride[0] - s->low[0];
        int64_t h = oh * s->dilation[1] + tap[1] * s->stride[1] - s->low[1];
        if (d < 0 || d >= s->in[0] || h < 0 || h >= s->in[1]) continue;
        runs[n_runs].a = x + (((n * s->in[0] + d) * s->in[1] + h) * s->in[2] + from * far + at) * s->channels;
        runs[n_runs++].b = w + ((row - first) * s->out[2] + from) * pitch;
    }
    for (int64_t part = 0, channel = 0; part < parts; part++) {
        int rows = (int)jt_up(in_group - channel, parts - part);
        NAME(channels)(rows, vectors, runs, n_runs, to - from, far * s->channels, pitch,
                       c + channel * s->features, s->features, columns, 1);
        for (int64_t r = 0; r < n_runs; r++) runs[r].a += rows;
        channel += rows;
    }
}

static TARGET int32_t NAME(filter)(void *call, void **slots, int64_t begin, int64_t end) {
    (void)call;
    const jt_window *s = slots[0];
    const T *x = slots[1], *w = slots[2];
    int64_t in_group = s->channels / s->groups, out_group = s->features / s->groups;
    int vectors = (int)NAME(width)(out_group);
    int64_t wide = vectors * LANES, width = s->out[2];
    int64_t taps = s->window[0] * s->window[1] * s->window[2];
    int64_t rows = s->batch * s->out[0] * s->out[1];
    int64_t bytes = (width * wide + s->in[2] * s->channels) * sizeof(T);
    int64_t at_once = jt_max64(1, jt_min64(s->rows, JT_FILTER_BYTES / jt_max64(bytes, 1)));
    for (int64_t item = begin; item < end; item++) {
        T *out = (T *)slots[3] + item * taps * in_group * s->features;
        NAME(run) *runs = (NAME(run) *)((char *)slots[4] + item * s->room);
        T *panel = (T *)(runs + s->rows);
        int64_t stop = jt_min64((item + 1) * s->rows, rows);
        memset(out, 0, taps * in_group * s->features * sizeof(T));
        for (int64_t first = item * s->rows; first < stop; first += at_once) {
            int64_t last = jt_min64(first + at_once, stop);
            for (int64_t group = 0; group < s->groups; group++)
                for (int64_t feature = 0; feature < out_group; feature += wide) {
                    int64_t column = group * out_group + feature, pitch = s->features;
                    int64_t columns = jt_min64(wide, out_group - feature);
                    const T *from = w + first * width * s->features + column;
                    if (columns < wide) { /* Vectors would extend past the end of the row. */
                        NAME(pack)(from, (last - first) * width, s->features, columns, wide, panel);
                        from = panel;
                        pitch = wide;
                    }
                    for (int64_t t = 0; t < taps; t++) {
                        int64_t tap[JT_SPACE] = {t / (s->window[1] * s->window[2]),
                                                 t / s->window[2] % s->window[1], t % s->window[2]};
                        NAME(filter_tap)(s, x + group * in_group, from, pitch, columns, vectors, tap, first,
                                         last, runs, out + t * in_group * s->features + column);
                    }
                }
        }
    }
    return 1;
}

#undef LANES
