"""Library and web search settings from the environment, as read-only rows."""

from __future__ import annotations

from pages.parts import words
from pages.parts.resources import application
from pages.settings.rows import Row, telling


def library_rows() -> tuple[Row, ...]:
    """Return folder, size, upload limit and private networks."""
    return (
        telling("Folder", "Everything that is kept lies here.", _folder, "CRAG_HOME", "home"),
        telling("Size", "What the documents, their passages and vectors take on disk.", _size),
        telling(
            "Upload limit",
            "Larger files are refused before they are read.",
            _limit,
            "CRAG_MAX_UPLOAD_MB",
            "max_upload_mb",
        ),
        telling(
            "Private addresses",
            "Networks besides the public internet that pages may be added from.",
            _networks,
            "CRAG_ALLOW_PRIVATE_URLS",
            "allow_private_urls",
        ),
    )


def web_rows() -> tuple[Row, ...]:
    """Return whether a Tavily key is present, and where queries are sent."""
    return (
        telling(
            "Tavily",
            "Without a key nothing is ever sent. With one only the query is, and only where a conversation allows it.",
            lambda: "Key present" if application().settings.tavily_api_key else "No key",
            "TAVILY_API_KEY",
            "tavily_api_key",
        ),
        telling(
            "Tavily's address",
            "Where the query goes.",
            lambda: application().settings.tavily_url,
            "CRAG_TAVILY_URL",
            "tavily_url",
        ),
    )


def _folder() -> str:
    return str(application().settings.home)


def _size() -> str:
    sources, passages, size = application().library.counts()
    return f"{words.size(size)}: {words.count(sources, 'document')}, {words.count(passages, 'passage')}"


def _limit() -> str:
    return f"{application().settings.max_upload_mb:,} MB a file"


def _networks() -> str:
    return ", ".join(str(network) for network in application().settings.allow_private_urls) or "None"
