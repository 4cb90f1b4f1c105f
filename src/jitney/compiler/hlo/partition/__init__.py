"""The partitioner: turns a program for a mesh into that of one device, with collectives."""
