"""Drawing that pages share."""
