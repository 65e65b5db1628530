"""Other ways in: the Model Context Protocol."""
