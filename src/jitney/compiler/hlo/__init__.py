"""The tensor IR: nodes, builder, printer, interpreter, passes."""
