/* Factorizations of our own for one type of elements T and one set of instructions; included by
   `factorize_own_types.h`. VECTOR is the number of bytes of a vector; TARGET makes the compiler use the
   instructions; NAME(name) is unique. WHOLE is the integer type of the size of T, which comparisons of
   vectors return. */

typedef T NAME(vector) __attribute__((vector_size(VECTOR), aligned(VECTOR), may_alias));
typedef T NAME(loose_vector) __attribute__((vector_size(VECTOR), aligned(sizeof(T)), may_alias));
typedef WHOLE NAME(mask) __attribute__((vector_size(VECTOR), aligned(VECTOR)));

/* Selects x where `chosen`, else y. */
static inline TARGET NAME(vector) NAME(select)(NAME(mask) chosen, NAME(vector) x, NAME(vector) y) {
    return (NAME(vector))((chosen & (NAME(mask))x) | (~chosen & (NAME(mask))y));
}

#include "factorize_blocks_type.h"
#include "factorize_lanes_type.h"
#include "factorize_lanes_svd_type.h"
