"""CRAG Chat: Corrective RAG over your own documents."""
