"""Messages shown when the user declines a web search; separate from the graph because LangGraph is slow to import."""

from __future__ import annotations

DECLINED = "You chose to answer from your documents only."
NOBODY = "Nobody could be asked, so the web was not searched."
