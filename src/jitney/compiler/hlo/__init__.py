"""The tensor IR: node classes, builder, printer, parser, verifier, interpreter and passes."""
