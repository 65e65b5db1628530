"""The Evaluate page: datasets answered under settings, their figures, and how they compare."""
