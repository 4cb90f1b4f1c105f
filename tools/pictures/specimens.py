"""Programs that the pictures show, written as in the documents: without annotations."""


def center(x):
    mean = x.mean(axis=1, keepdims=True)
    return x - mean
