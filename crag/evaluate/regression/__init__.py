"""The pinned questions asked again after a change, and what broke by it."""
