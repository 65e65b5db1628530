"""Long trials, run by hand; the suite runs each for a moment."""
