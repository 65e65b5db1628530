"""The pictures of Evaluate, one kind a module: each draws plain values and says the same in words."""
