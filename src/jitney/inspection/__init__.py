"""Tools that show the compiled form of programs, by the user's source lines.

`facts` is the one model: the steps of a compiled program, each with the source lines it comes from, its
sizes and its costs; `memory` says which values are alive when, `timing` what the steps take, `machine`
what they could at the least. `explain` prints them in words, `page` draws them beside all texts of the
program, `profile` gathers them over a whole run.
"""
