"""The home on disk: database, files, rows of sources and spaces, outbound log."""
