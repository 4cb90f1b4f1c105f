/* The types of elements for one set of instructions; included by `factorize_own.h` for each. */

#define T float
#define WHOLE int32_t
#define TYPE f32
#define TYPE_NUMBER JT_F32
#define ROOT __builtin_sqrtf
#define EPSILON 0x1p-24f
/* its square has full precision, also for elements that are smaller by a factor of 2^-24 */
#define TINY 0x1p-51f
#define LEAST_EXPONENT -125
#include "factorize_own_type.h"
#undef T
#undef WHOLE
#undef TYPE
#undef TYPE_NUMBER
#undef ROOT
#undef EPSILON
#undef TINY
#undef LEAST_EXPONENT

#define T double
#define WHOLE int64_t
#define TYPE f64
#define TYPE_NUMBER JT_F64
#define ROOT __builtin_sqrt
#define EPSILON 0x1p-53
#define TINY 0x1p-484
#define LEAST_EXPONENT -1021
#include "factorize_own_type.h"
#undef T
#undef WHOLE
#undef TYPE
#undef TYPE_NUMBER
#undef ROOT
#undef EPSILON
#undef TINY
#undef LEAST_EXPONENT

#define OF(type)                                                                                        \
    {JT_NAME__(lu, type, ISA), JT_NAME__(cholesky, type, ISA), JT_NAME__(eigh, type, ISA),               \
     JT_NAME__(qr, type, ISA), JT_NAME__(svd, type, ISA)}
static const jt_own JT_NAME__(own, types, ISA)[] = {OF(f32), OF(f64)};
#undef OF
