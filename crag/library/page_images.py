"""Page images: a PDF page with the cited passage highlighted."""

from __future__ import annotations

import io
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crag.errors import NotFound
from crag.text.language import split_sentences

if TYPE_CHECKING:
    from PIL.Image import Image


PixelBox = tuple[int, int, int, int]  # left, upper, right, lower in pixels

_PIXELS_PER_POINT = 1.9
_MAX_PIXELS = 12_000_000
_PALE_COLOUR, _STRONG_COLOUR = (255, 244, 200), (255, 214, 102)
_MARGIN = 24
_PASSAGE_MARGIN = 90
_SHORTEST_MATCH = 8
_PAPER_BRIGHTNESS = 250  # brightness from which a pixel counts as empty
# PDFium is not thread-safe.
_PDFIUM_LOCK = threading.Lock()


def count_pages(path: Path) -> int:
    """Return the number of pages of a PDF. Raises `NotFound` if it cannot be opened."""
    with _open_pdf(path) as pdf:
        return len(pdf)


def render_page(path: Path, page: int, highlight: str = "", strong: str = "", *, around_passage: bool = False) -> bytes:
    """Render page `page` (from 1) as PNG without margins, with `highlight` marked pale and `strong` marked strongly.

    Text on another page, or not found on this one, is not marked. `around_passage` crops to the marked part, for small
    screens; marks in several columns are stacked vertically. Use only for files that were parsed at ingest, which
    happens in a process that can be killed. Raises `NotFound`.
    """
    with _open_pdf(path) as pdf:
        if not 1 <= page <= len(pdf):
            raise NotFound(f"The document has no page {page}.")
        sheet = pdf[page - 1]
        with closing(sheet.render(scale=_page_scale(sheet))) as bitmap:
            image = bitmap.to_pil().convert("RGB").copy()
            letters = _PageLetters(sheet.get_textpage(), bitmap.get_posconv(sheet))
        pale, dark = letters.boxes(highlight), letters.boxes(strong)
    marked = _highlight_boxes(image, pale, dark)
    columns = _group_columns([*pale, *dark]) if around_passage else []
    return _encode_png(_stack_images([marked.crop(_crop_box(image, marks)) for marks in columns or [[]]]))


@contextmanager
def _open_pdf(path: Path) -> Iterator[Any]:
    """Open a PDF under the PDFium lock. Raises `NotFound`."""
    import pypdfium2

    with _PDFIUM_LOCK:
        try:
            pdf = pypdfium2.PdfDocument(path)
            try:
                yield pdf
            finally:
                pdf.close()
        except (pypdfium2.PdfiumError, OSError) as error:
            raise NotFound("The page cannot be drawn; its text is still there.") from error


def _page_scale(sheet: Any) -> float:
    """Return the pixels per point: 1.9, less for posters."""
    points = max(1.0, sheet.get_width() * sheet.get_height())
    return float(min(_PIXELS_PER_POINT, (_MAX_PIXELS / points) ** 0.5))


class _PageLetters:
    """The letters and digits of a page in order, with their positions on the image."""

    def __init__(self, text: Any, positions: Any) -> None:
        import pypdfium2.raw as pdfium

        self._text = text
        self._positions = positions
        self._places: list[int] = []
        squeezed: list[str] = []
        for place in range(text.count_chars()):
            code = pdfium.FPDFText_GetUnicode(text, place)
            letters = _normalize_letters(chr(code)) if code <= 0x10FFFF else ""
            squeezed.append(letters)
            self._places += [place] * len(letters)
        self._squeezed = "".join(squeezed)

    def boxes(self, passage: str) -> list[PixelBox]:
        """Return one box per line of the passage: found as a whole, else sentence by sentence."""
        whole = self._find(passage, 0)
        spans = [whole] if whole else list(self._find_sentences(passage))
        return [box for start, end in spans for box in self._lines(self._places[start:end])]

    def _find_sentences(self, passage: str) -> Iterator[tuple[int, int]]:
        last = 0
        for sentence in split_sentences(passage):
            if span := self._find(sentence, last) or self._find(sentence, 0):
                last = span[1]
                yield span

    def _find(self, wanted: str, start: int) -> tuple[int, int] | None:
        letters = _normalize_letters(wanted)
        at = self._squeezed.find(letters, start) if len(letters) >= _SHORTEST_MATCH else -1
        return (at, at + len(letters)) if at >= 0 else None

    def _lines(self, indexes: Sequence[int]) -> Iterator[PixelBox]:
        """Yield the boxes of adjacent letters, joined while they are on one line of the page."""
        line: tuple[float, float, float, float] | None = None
        for place in indexes:
            left, bottom, right, top = self._text.get_charbox(place, loose=True)
            if line and left >= line[0] and abs(bottom - line[1]) < (line[3] - line[1]) / 2:
                line = (line[0], min(line[1], bottom), max(line[2], right), max(line[3], top))
                continue
            if line:
                yield self._box_to_pixels(*line)
            line = (left, bottom, right, top)
        if line:
            yield self._box_to_pixels(*line)

    def _box_to_pixels(self, left: float, bottom: float, right: float, top: float) -> PixelBox:
        """Convert a box to pixels; a page may be rotated."""
        corners = [self._positions.to_bitmap(x, y) for x, y in ((left, bottom), (right, top))]
        (x1, x2), (y1, y2) = (sorted(values) for values in zip(*corners, strict=True))
        return x1, y1, x2, y2


def _normalize_letters(text: str) -> str:
    """Reduce text to lower-case letters and digits without ligatures and accents, which line breaks cannot change."""
    return "".join(sign for sign in unicodedata.normalize("NFKD", text).casefold() if sign.isalnum())


def _highlight_boxes(image: Image, pale: Sequence[PixelBox], dark: Sequence[PixelBox]) -> Image:
    """Multiply the highlight colours onto the page, like a marker pen: the text under them stays black."""
    from PIL import Image as Pictures
    from PIL import ImageChops, ImageDraw

    if not pale and not dark:
        return image
    colours = Pictures.new("RGB", image.size, "white")
    brush = ImageDraw.Draw(colours)
    for boxes, colour in ((pale, _PALE_COLOUR), (dark, _STRONG_COLOUR)):
        for box in boxes:
            brush.rectangle(box, fill=colour)
    return ImageChops.multiply(image, colours)


def _group_columns(boxes: Sequence[PixelBox]) -> list[list[PixelBox]]:
    """Group boxes into columns that do not overlap horizontally, from the left."""
    columns: list[list[PixelBox]] = []
    for box in sorted(boxes):
        if columns and box[0] < max(right for _, _, right, _ in columns[-1]):
            columns[-1].append(box)
        else:
            columns.append([box])
    return columns


def _stack_images(images: Sequence[Image]) -> Image:
    """Stack the images vertically."""
    from PIL import Image as Pictures

    size = max(one.width for one in images), sum(one.height for one in images)
    sheet = Pictures.new("RGB", size, "white")
    top = 0
    for one in images:
        sheet.paste(one, (0, top))
        top += one.height
    return sheet


def _crop_box(image: Image, marks: Sequence[PixelBox]) -> PixelBox:
    """Return the area to keep: the page without empty margins, or the column of the marks with a few lines around."""
    dark = image.convert("L").point(lambda light: 255 * (light < _PAPER_BRIGHTNESS))
    left, upper, right, lower = dark.getbbox() or (0, 0, *image.size)
    if marks:
        left, right = max(left, min(box[0] for box in marks)), min(right, max(box[2] for box in marks))
        upper = max(upper, min(box[1] for box in marks) - _PASSAGE_MARGIN)
        lower = min(lower, max(box[3] for box in marks) + _PASSAGE_MARGIN)
    width, height = image.size
    return max(0, left - _MARGIN), max(0, upper - _MARGIN), min(width, right + _MARGIN), min(height, lower + _MARGIN)


def _encode_png(image: Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=3)
    return out.getvalue()
