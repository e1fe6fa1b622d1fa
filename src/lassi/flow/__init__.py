"""The generative model G = (E, D): Glow, its training, its check, published checkpoints."""
