"""What is used of mpi4py, an extra that environments for type checks need not have."""

from mpi4py import MPI as MPI
