/* Sets of instructions of x86-64: which the processor has, and how a function asks for those of AVX-512;
   names of functions that are compiled for each type and set. */

#ifndef JITNEY_INSTRUCTIONS_H
#define JITNEY_INSTRUCTIONS_H

#define JT_INLINE static inline __attribute__((always_inline))
#define JT_NAME_(name, type, isa) jt_##name##_##type##_##isa
#define JT_NAME__(name, type, isa) JT_NAME_(name, type, isa)
#define NAME(name) JT_NAME__(name, TYPE, ISA)

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define JT_X86 1

#include <cpuid.h>

/* Allows vectors of 64 bytes, by the attribute of each compiler. Clang ignores a whole target if it does
   not know a part of it. */
#ifdef __clang__
#define JT_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma"), min_vector_width(512)))
#else
#define JT_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma,prefer-vector-width=512")))
#endif

/* Returns the level of instructions that the processor has and whose registers the operating system
   saves: 1 for AVX2 with FMA, 2 for AVX-512, else 0. The processor is queried directly, as the
   functions of compilers for this are in a library that is not always available. */
static int jt_ask_instructions(void) {
    enum { OSXSAVE = 1 << 27, FMA = 1 << 12, AVX2 = 1 << 5 };
    const unsigned avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F, DQ, BW, VL */
    unsigned a, b, c, d, features, saved;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE) || !(c & FMA)) return 0;
    if (!__get_cpuid_count(7, 0, &a, &features, &c, &d) || !(features & AVX2)) return 0;
    __asm__ volatile("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
    if ((saved & 0x06) != 0x06) return 0; /* SSE, AVX */
    return (features & avx512) == avx512 && (saved & 0xe0) == 0xe0 ? 2 : 1;
}

/* Returns that level, which is determined once: on a virtual machine the query takes tens of
   microseconds. */
static int jt_instructions(void) {
    /* Several threads may determine the level; the result is the same. */
    static _Atomic int level = -1;
    if (level < 0) level = jt_ask_instructions();
    return level;
}
#else
static int jt_instructions(void) { return 0; }
#endif

/* Returns the highest level up to `level` that the processor has. */
static int jt_level(int level) {
    int has = jt_instructions();
    return level < has ? level : has;
}

#endif
