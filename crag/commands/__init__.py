"""The commands of the contract, by purpose; `crag/cli.py` puts them together."""
