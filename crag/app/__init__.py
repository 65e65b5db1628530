"""The composition root: opens every service and puts them together."""
