"""Nomic in this process: its weights, fetched, checked and tried, and LangChain's embeddings over them."""
