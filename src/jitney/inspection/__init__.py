"""Tools that show the compiled form of programs, attributed to the user's source lines.

`facts` is the common model: the steps of a compiled program, each with its source lines, sizes and
costs. `memory` computes which values are alive at each step, `timing` measures the steps, and
`machine` measures the peak rates that bound them. `explain` describes programs in words, `page`
shows all representations of a program side by side, and `profile` accumulates times over a run.
"""
