"""Everything that a model server can do wrong, through the whole application over real HTTP."""
