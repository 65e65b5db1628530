"""Getting models in the background: with real progress, cancelled at once, gone on with later."""

from crag.models.downloads.downloads import Downloads
from crag.models.downloads.values import Download, DownloadState, Fetch

__all__ = ["Download", "DownloadState", "Downloads", "Fetch"]
