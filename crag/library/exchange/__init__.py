"""The library's doors to elsewhere: collections as LangChain folders and JSON Lines, the whole home as one file."""
