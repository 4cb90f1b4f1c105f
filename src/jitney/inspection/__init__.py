"""What became of a program: tools that show it in the user's lines.

`facts` is the one model: the steps of a compiled program, each with the source lines it comes from, its
sizes and its costs. `explain` prints it in words, `page` draws it beside all texts of the program.
"""
