/* The types of numbers for one set of instructions; included by `fourier.h` for each. */

#define TYPE f32
#define T float
#define MASK int32_t
#define T_BYTES 4
#include "fourier_type.h"
#undef TYPE
#undef T
#undef MASK
#undef T_BYTES

#define TYPE f64
#define T double
#define MASK int64_t
#define T_BYTES 8
#include "fourier_type.h"
#undef TYPE
#undef T
#undef MASK
#undef T_BYTES
