"""The data of pictures (pure): how scores spread, where questions went, what thresholds cost, accuracy against time."""
