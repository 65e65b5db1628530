"""Vector index, full-text search, fusion, embedding spaces."""
