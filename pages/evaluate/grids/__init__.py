"""Settings tried together: which, what came of each, and the best of them."""
