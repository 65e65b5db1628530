"""Charts of the Evaluate page, one module for each kind; each also describes its values in words."""
