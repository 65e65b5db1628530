"""The parser for images of text."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crag.errors import SourceRefused
from crag.ingest.parse.document import Document, ParseRequest, damaged_refusal, describe_unread_pages, too_large_refusal
from crag.ingest.parse.ocr import INSTALL_OCR, OCR_TIMED_OUT, ScanReader, ocr_too_slow_refusal
from crag.ingest.parse.page_layout import join_lines, plain_block

if TYPE_CHECKING:
    from PIL.Image import Image


MAX_OCR_PIXELS = 12_000_000
_MAX_OPENED_PIXELS = 100_000_000


def read_image(request: ParseRequest) -> Document:
    """Read the text of an image; each frame of a TIFF is a page.

    Raises `SourceRefused` (`corrupt`, `no_text`, `too_large`, `too_slow`).
    """
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # checked below, with the application's own message
    try:
        with Image.open(io.BytesIO(request.data), formats=("PNG", "JPEG", "TIFF")) as image:
            count = getattr(image, "n_frames", 1)
            if count > request.limits.pages or image.width * image.height > _MAX_OPENED_PIXELS:
                raise too_large_refusal("The picture is too large to be read.")
            if not request.can_read_scans:
                raise SourceRefused("no_text", "This is a picture.", INSTALL_OCR)
            pages = list(ScanReader(request).read(_grayscale_frames(image, count), count))
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise damaged_refusal("The picture is damaged and cannot be read.", "Save it again, then add it.") from error
    blocks = tuple(plain_block(join_lines(lines, set()), n) for n, page in enumerate(pages, 1) for lines in page or ())
    late = pages.count(None)
    if not blocks and late:
        raise ocr_too_slow_refusal()
    if not blocks:
        raise SourceRefused("no_text", "No text was found in this picture.")
    return Document("", count, blocks, note=describe_unread_pages(count, {OCR_TIMED_OUT: late}))


def _grayscale_frames(image: Image, count: int) -> Iterator[Image]:
    from PIL import ImageOps

    for number in range(count):
        image.seek(number)
        grey = ImageOps.exif_transpose(image).convert("L")
        share = (MAX_OCR_PIXELS / (grey.width * grey.height)) ** 0.5
        yield grey if share >= 1 else grey.resize((max(1, int(grey.width * share)), max(1, int(grey.height * share))))
