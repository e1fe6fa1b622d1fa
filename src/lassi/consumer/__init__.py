"""The consumer: classifiers on representations, and baselines on images and latents."""
