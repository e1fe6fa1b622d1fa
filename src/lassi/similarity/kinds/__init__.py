"""The kinds of directions, one module each; see :mod:`lassi.similarity.kind`."""
