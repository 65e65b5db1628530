"""What the documents do not cover: the questions that show it, in groups, and the pages that would fill the gap."""

from crag.gaps.gaps import Gaps
from crag.gaps.values import Gap, GapPage, GapQuestion

__all__ = ["Gap", "GapPage", "GapQuestion", "Gaps"]
