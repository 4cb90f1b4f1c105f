"""The partitioner: turns a program for a mesh into the program of one device, with collectives."""
