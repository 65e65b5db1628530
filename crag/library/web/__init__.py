"""Documents from the web: the one safe fetcher, whole sites, and what may be fetched at all."""
