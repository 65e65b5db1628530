"""Parser for PowerPoint files; slides are the pages."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

from crag.library.parse.document import Block, Document
from crag.library.parse.limits import too_large
from crag.library.parse.request import Request

_NO_TITLE = "PowerPoint Presentation"  # PowerPoint's default title


def read_pptx(request: Request) -> Document:
    """Parse each slide: title as heading, text, table rows, then the notes. Raises `SourceRefused` (`too_large`)."""
    from pptx import Presentation

    presentation = Presentation(io.BytesIO(request.data))
    count = len(presentation.slides)
    if count > request.limits.pages:
        raise too_large(f"has {count:,} slides, more than the limit of {request.limits.pages:,}")
    blocks: list[Block] = []
    for number, slide in enumerate(presentation.slides, 1):
        request.progress("Reading slide", number, count)
        blocks += _slide(slide, number)
    title = (presentation.core_properties.title or "").strip()
    first = next((block.text for block in blocks if block.kind == "heading"), "")
    return Document(first if title in ("", _NO_TITLE) else title, "pptx", count, tuple(blocks))


def _slide(slide: Any, number: int) -> Iterator[Block]:
    title = slide.shapes.title
    if title is not None:
        yield Block(" ".join(title.text_frame.text.split()), "heading", number, 1)
    for shape in _flat(slide.shapes):
        if title is None or shape.shape_id != title.shape_id:
            yield from _shape(shape, number)
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
        yield from (Block(f"Notes: {line}", page=number) for line in notes.text.splitlines() if line.strip())


def _flat(shapes: Iterable[Any]) -> Iterator[Any]:
    """Yield the shapes in slide order, with groups replaced by their members."""
    from pptx.enum.shapes import MSO_SHAPE_TYPE

    for shape in shapes:
        if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
            yield from _flat(shape.shapes)
        elif not _is_furniture(shape):
            yield shape


def _is_furniture(shape: Any) -> bool:
    """Return whether the shape is a date, footer or slide number, which every slide repeats."""
    from pptx.enum.shapes import PP_PLACEHOLDER

    running = (PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.SLIDE_NUMBER)
    return shape.is_placeholder and shape.placeholder_format.type in running


def _shape(shape: Any, number: int) -> Iterator[Block]:
    if getattr(shape, "has_table", False):
        for row in shape.table.rows:
            cells = [" ".join(cell.text.split()) for cell in row.cells if not cell.is_spanned]
            yield Block(" | ".join(cells) if any(cells) else "", "row", number)
    elif shape.has_text_frame:
        texts = [" ".join(paragraph.text.split()) for paragraph in shape.text_frame.paragraphs]
        texts = [text for text in texts if text]
        listed = shape.is_placeholder and len(texts) > 1  # several paragraphs in a placeholder are a list
        yield from (Block(f"- {text}", "item", number) if listed else Block(text, page=number) for text in texts)
