"""The vectors of one space, kept ready to be searched: a cache over the database."""
