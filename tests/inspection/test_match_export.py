import csv
import io

from crag.events import MatchesListed, TableQueried
from crag.inspection.match_export import export_matches, export_table
from crag.runs.trace import Trace
from crag.types import Match, TableResult


def read(data):
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))


def test_every_match_is_a_row_with_its_place_and_no_formula():
    listed = MatchesListed("hens", (Match(7, "=1+1 is a formula.", "Lease", 3), Match(7, "Hens are fed.", "Lease", 3)))
    trace = Trace().apply_all([listed])
    assert read(export_matches(trace)) == [
        ["document", "page", "sheet", "text"],
        ["Lease", "3", "", "'=1+1 is a formula."],
        ["Lease", "3", "", "Hens are fed."],
    ]


def test_the_result_of_a_query_is_exported_with_its_columns():
    result = TableResult("Robots", "SELECT 1", ("Robot", "Sold"), (("Ant", 510), ("+Bee", None)), 2, 2)
    trace = Trace().apply_all([TableQueried(result)])
    assert read(export_table(trace)) == [["Robot", "Sold"], ["Ant", "510"], ["'+Bee", ""]]
