"""A chat model over LangChain: each request in its turn, its reply read while it comes, and how it ended told truly."""
