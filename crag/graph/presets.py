"""Presets that reproduce published variants of Corrective RAG, with the workflow of their authors."""

from __future__ import annotations

from crag.options import RunOptions

PRESETS: dict[str, RunOptions] = {
    # LangGraph notebook on local models (June 2024): any irrelevant passage triggers a web search, no rewriting.
    "langgraph-local": RunOptions(policy="any", k=4, rewrite="none", web_results=3, refine=False, web="auto"),
    # LangGraph notebook (February 2024): rewrites the query, joins all web results into one document.
    "langgraph": RunOptions(policy="any", k=4, rewrite="question", join_web=True, refine=False, web="auto"),
    # LangGraph.js: searches the web only if no passage is relevant.
    "langgraph-js": RunOptions(policy="none", k=4, rewrite="question", join_web=True, refine=False, web="auto"),
    # Korean CRAG on AWS: searches child passages and gives their parent to the model.
    "parent-child": RunOptions(policy="any", k=4, rewrite="question", parent_context=True, refine=False, web="auto"),
    # Mistral notebooks: two graphs, with and without rewriting.
    "mistral": RunOptions(policy="any", k=4, rewrite="question", refine=False, web="auto"),
    "mistral-no-rewrite": RunOptions(policy="any", k=4, rewrite="none", refine=False, web="auto"),
    # The paper, section 4: ten passages, three actions, strips, at most three keywords, five web pages.
    "paper": RunOptions(policy="paper", k=10, rewrite="keywords", refine=True, web_results=5, web="auto"),
}
