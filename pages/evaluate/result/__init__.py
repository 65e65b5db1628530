"""One evaluation: its head, its figures, its answers, and the ways on from it."""
