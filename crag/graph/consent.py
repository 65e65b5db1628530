"""What a person is told who does not let a query go; apart from the graph, since LangGraph is slow to import."""

from __future__ import annotations

DECLINED = "You chose to answer from your documents only."
NOBODY = "Nobody could be asked, so the web was not searched."
