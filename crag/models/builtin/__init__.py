"""The engine that needs no server, no download and no key."""
