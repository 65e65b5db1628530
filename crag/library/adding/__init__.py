"""From what a person names to a searchable source: got, read, cut, embedded, stored in one commit."""
