"""Parser for images of text (PNG, JPEG, TIFF), by OCR."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crag.errors import SourceRefused
from crag.library.parse.document import Document, note_unread
from crag.library.parse.limits import too_large
from crag.library.parse.ocr import INSTALL, TOO_LONG, Ocr, too_slow
from crag.library.parse.paragraphs import joined, plain
from crag.library.parse.request import Request

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_PIXELS = 12_000_000
_MOST_TO_OPEN = 100_000_000


def read_picture(request: Request) -> Document:
    """Read the text of an image; each frame of a TIFF is a page.

    Raises `SourceRefused` (`corrupt`, `no_text`, `too_large`, `too_slow`).
    """
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # checked below, with the application's own message
    try:
        with Image.open(io.BytesIO(request.data), formats=("PNG", "JPEG", "TIFF")) as image:
            count = getattr(image, "n_frames", 1)
            if count > request.limits.pages or image.width * image.height > _MOST_TO_OPEN:
                raise too_large("is a picture too large to be read")
            if not request.tesseract:
                raise SourceRefused("no_text", "This is a picture.", INSTALL)
            pages = list(Ocr(request).read(_frames(image, count), count))
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise SourceRefused(
            "corrupt", "The picture is damaged and cannot be read.", "Save it anew and add that."
        ) from error
    blocks = tuple(plain(joined(lines, set()), n) for n, page in enumerate(pages, 1) for lines in page or ())
    late = pages.count(None)
    if not blocks and late:
        raise too_slow()
    if not blocks:
        raise SourceRefused("no_text", "There is no text in this picture that could be read.")
    return Document("", "image", count, blocks, note=note_unread(count, {TOO_LONG: late}))


def _frames(image: Image, count: int) -> Iterator[Image]:
    from PIL import ImageOps

    for number in range(count):
        image.seek(number)
        grey = ImageOps.exif_transpose(image).convert("L")
        share = (MOST_PIXELS / (grey.width * grey.height)) ** 0.5
        yield grey if share >= 1 else grey.resize((max(1, int(grey.width * share)), max(1, int(grey.height * share))))
