"""Corrective retrieval-augmented generation over one's own documents (after CRAG, arXiv 2401.15884)."""
