"""Typed tables of documents, questions about them, and the SQL that answers these."""
