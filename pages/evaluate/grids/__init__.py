"""Grid evaluations: axes, ranked variants and heat maps."""
