"""Settings page."""
