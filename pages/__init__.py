"""The screen: one folder a page, and the parts that pages share."""
