"""One evaluation: head, figures and answers."""
