"""Searching the web, behind one protocol; nothing here runs without a key and the person's leave."""

from crag.websearch.quota import Quota, SearchQuota
from crag.websearch.tavily import TavilySearch

__all__ = ["Quota", "SearchQuota", "TavilySearch"]
