"""An evaluation as files: CSV, JSON, and one HTML report."""

from crag.evaluate.exports.document import as_json
from crag.evaluate.exports.report import as_html
from crag.evaluate.exports.sheet import as_csv

__all__ = ["as_csv", "as_html", "as_json"]
