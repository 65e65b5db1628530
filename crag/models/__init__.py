"""Chat models, embedders and their downloads."""
