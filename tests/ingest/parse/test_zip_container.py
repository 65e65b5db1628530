"""Zip containers, whatever is in them: read whole or refused."""

import io
import zipfile

import pytest

from crag.errors import SourceRefused
from crag.ingest.parse.document import ParseLimits, ParseRequest
from crag.ingest.parse.zip_container import MAX_MEMBERS, check_zip_members

METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]


def packed(text=b"<a>tea</a>" * 9, name="a.xml", method=zipfile.ZIP_DEFLATED, offset=0):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr(name, text)
        archive.infolist()[0].header_offset = offset
    return out.getvalue()


def names(data):
    ignored = lambda *_: 0.0  # noqa: E731
    return check_zip_members(ParseRequest("a.zip", "", None, data, ParseLimits(), ignored, "", "", ignored))


def code(data):
    with pytest.raises(SourceRefused) as refused:
        names(data)
    return refused.value.code


@pytest.mark.parametrize("method", METHODS)
def test_no_flipped_byte_gets_through_as_another_error(method):
    data = packed(method=method)
    refused = set()
    for place in range(len(data)):
        for value in {0, 12, 14, 0xFF, data[place] ^ 1} - {data[place]}:
            try:
                names(data[:place] + bytes([value]) + data[place + 1 :])
            except SourceRefused as error:
                refused.add(error.code)
    assert refused <= {"corrupt", "encrypted", "too_large"}
    assert "corrupt" in refused


def test_too_many_parts_are_refused():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(MAX_MEMBERS + 1):
            archive.writestr(zipfile.ZipInfo(str(number)), b"")
    assert code(out.getvalue()) == "too_large"


def test_an_offset_beyond_any_file_is_refused():
    assert code(packed(offset=(1 << 64) - 1)) == "corrupt"


@pytest.mark.parametrize("before", [b"", b" " * 4000])
@pytest.mark.parametrize("name", ["a.xml", "a.rels"])
def test_declared_entities_are_refused(before, name):
    assert code(packed(before + b"<!DOCTYPE x [<!ENTITY a 'b'>]><x/>", name)) == "corrupt"


@pytest.mark.parametrize("name", ["toc.ncx", "a.xhtml"])
def test_what_books_declare_is_read(name):
    assert names(packed(b'<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "ncx.dtd"><ncx/>', name)) == {name}
    assert names(packed(b"<x/>", "a.xml")) == {"a.xml"}
