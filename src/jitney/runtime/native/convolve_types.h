/* The types of elements for one set of instructions; included by `convolve.h` for each. Unsigned
   numbers of one width multiply and add as signed ones do: wrapping, so that overflow is defined. */

#define TYPE f32
#define T float
#include "convolve_type.h"
#undef TYPE
#undef T

#define TYPE f64
#define T double
#include "convolve_type.h"
#undef TYPE
#undef T

#define TYPE i32
#define T uint32_t
#include "convolve_type.h"
#undef TYPE
#undef T

#define TYPE i64
#define T uint64_t
#include "convolve_type.h"
#undef TYPE
#undef T
