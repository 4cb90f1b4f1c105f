"""Linear systems whose matrix is known by its products."""

from jitney.scipy.sparse import linalg as linalg
