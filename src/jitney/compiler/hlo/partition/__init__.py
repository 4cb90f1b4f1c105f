"""The partitioner: of a program for a whole mesh the program of one device, with its collectives."""
