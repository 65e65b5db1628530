"""Background work, parallel mapping and caches."""
