"""The page where thresholds are measured, moved and kept, and its parts."""
