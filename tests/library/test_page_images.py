"""Pages as images with the passage highlighted."""

import io

import numpy as np
import pytest
from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from crag.errors import NotFound
from crag.library.page_images import count_pages, render_page

LINES = [
    "The first line speaks of cats.",
    "The second line is about trace mon-",
    "keys and how they jump.",
    "The last line.",
]
PASSAGE = "The second line is about trace monkeys and how they jump."


@pytest.fixture
def pdf(tmp_path):
    return draw(tmp_path / "pages.pdf", A4)


def draw(path, size, rotation=0):
    canvas = Canvas(str(path), pagesize=size, invariant=1)
    for page in range(2):
        canvas.setFont("Helvetica", 14)
        for n, line in enumerate(LINES):
            canvas.drawString(100, size[1] - 300 - 40 * n, line if page == 0 else f"Page two, {n}.")
        canvas.setPageRotation(rotation)
        canvas.showPage()
    canvas.save()
    return path


def picture(*arguments, **options):
    return Image.open(io.BytesIO(render_page(*arguments, **options).png)).convert("RGB")


def colours(image):
    return {colour for _, colour in image.getcolors(maxcolors=1 << 24)}


def rows_with(image, colour):
    return np.flatnonzero((np.asarray(image) == colour).all(axis=2).any(axis=1)).tolist()


PALE, STRONG = (255, 244, 200), (255, 214, 102)


def test_pages_are_counted(pdf):
    assert count_pages(pdf) == 2


def test_margins_are_cut_and_nothing_is_marked_without_a_passage(pdf):
    image = picture(pdf, 1)
    assert image.width < 700
    assert image.height < 400
    assert not {PALE, STRONG} & colours(image)


def test_a_hyphenated_passage_is_highlighted_under_black_text(pdf):
    image = picture(pdf, 1, PASSAGE, "how they jump")
    assert {PALE, STRONG} <= colours(image)
    assert min(sum(colour) for colour in colours(image)) < 60
    pale, strong = rows_with(image, PALE), rows_with(image, STRONG)
    assert min(pale) > image.height * 0.2
    assert max(pale) < image.height * 0.85
    assert min(strong) > min(pale) + 20


def test_a_passage_that_continues_elsewhere_is_highlighted_here(pdf):
    image = picture(pdf, 1, "Text of another page that is not here. The first line speaks of cats. And more.")
    assert max(rows_with(image, PALE)) < image.height * 0.4


@pytest.mark.parametrize("passage", ["", "line", "\x00 ??? —", "Nothing of this stands there at all."])
def test_what_is_not_there_is_not_marked(pdf, passage):
    assert not {PALE, STRONG} & colours(picture(pdf, 1, passage, passage))


def test_on_a_phone_only_the_passage_and_a_little_more_is_kept(pdf):
    whole, part = picture(pdf, 1, LINES[0]), picture(pdf, 1, LINES[0], around_passage=True)
    assert part.height < whole.height
    assert picture(pdf, 1, "Nothing of this stands there.", around_passage=True).size == picture(pdf, 1).size


def test_on_a_phone_columns_stand_one_below_the_other(tmp_path):
    canvas = Canvas(str(tmp_path / "columns.pdf"), pagesize=A4, invariant=1)
    canvas.drawString(60, 80, "The dance of the bees tells where")
    canvas.drawString(340, 780, "the flowers of the morning are.")
    canvas.save()
    passage = "The dance of the bees tells where the flowers of the morning are."
    whole = picture(tmp_path / "columns.pdf", 1, passage)
    cut = picture(tmp_path / "columns.pdf", 1, passage, around_passage=True)
    assert cut.width < whole.width * 0.6
    upper, lower = min(rows_with(cut, PALE)), max(rows_with(cut, PALE))
    assert upper < cut.height / 2 < lower


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_turned_pages_are_marked_where_the_text_is(tmp_path, rotation):
    path = draw(tmp_path / "turned.pdf", A4, rotation)
    assert PALE in colours(picture(path, 1, LINES[0]))
    kept = picture(path, 1, LINES[0], around_passage=True)
    dark = kept.convert("L").point(lambda light: 255 * (light < 80))
    assert dark.getbbox() is not None


def test_a_poster_is_drawn_smaller(tmp_path):
    path = draw(tmp_path / "poster.pdf", (14000, 14000))
    assert picture(path, 1).width < 4000


@pytest.mark.parametrize("page", [0, 3, -1])
def test_a_page_that_is_not_there_is_said(pdf, page):
    with pytest.raises(NotFound):
        render_page(pdf, page)


def test_what_is_no_pdf_is_said(tmp_path):
    (tmp_path / "x.pdf").write_bytes(b"%PDF-1.4 broken")
    for call in (lambda: count_pages(tmp_path / "x.pdf"), lambda: render_page(tmp_path / "missing.pdf", 1)):
        with pytest.raises(NotFound):
            call()


def test_a_page_without_the_text_says_that_nothing_is_marked(pdf):
    x, y = render_page(pdf, 1, PASSAGE).mark
    image = picture(pdf, 1, PASSAGE)
    assert round(y * image.height) == rows_with(image, PALE)[0]
    assert 0 < x * image.width < 60
    assert render_page(pdf, 2, PASSAGE).mark is None


PROSE = "and so the bees of the valley went on with their work for many long days without rest"


def write_page(canvas, lines, size=11):
    """Write (x, y, text) each in the same font."""
    canvas.setFont("Helvetica", size)
    for x, y, text in lines:
        canvas.drawString(x, y, text)


def columns_page(path, title=""):
    """Two columns of prose; the sentence under test is in the middle of the left one."""
    canvas = Canvas(str(path), pagesize=A4, invariant=1)
    if title:
        write_page(canvas, [(50, 790, title)], size=20)
    words = PROSE.split()
    for x in (50, 310):
        write_page(canvas, [(x, 760 - 14 * n, " ".join(words[n % 8 : n % 8 + 8])) for n in range(48)])
    canvas.save()
    return path


def is_cut_through(image):
    """Whether ink touches the edge of the picture."""
    dark = image.convert("L").point(lambda light: 255 * (light < 200))
    left, upper, right, lower = dark.getbbox()
    return left == 0 or upper == 0 or right == image.width or lower == image.height


def test_no_column_and_no_line_is_cut_through(tmp_path):
    path = columns_page(tmp_path / "columns.pdf")
    cut = picture(path, 1, "the valley went on with their work for", around_passage=True)
    assert cut.width < picture(path, 1).width * 0.6
    assert not is_cut_through(cut)


def test_a_wide_title_is_not_clipped_where_a_column_is_cut_out(tmp_path):
    title = "A title that runs across both of the columns below"
    path = columns_page(tmp_path / "columns.pdf", title)
    cut = picture(path, 1, " ".join(PROSE.split()[:8]), around_passage=True)
    assert not is_cut_through(cut)
    assert not is_cut_through(picture(path, 1, title, around_passage=True))


def test_a_sentence_with_something_between_its_lines_is_marked(tmp_path):
    canvas = Canvas(str(tmp_path / "note.pdf"), pagesize=A4, invariant=1)
    lines = [
        "The bees of the valley dance every morning",
        "Figure 3 shows a hive.",
        "to tell the others where the flowers are.",
    ]
    write_page(canvas, [(72, 700 - 60 * n, line) for n, line in enumerate(lines)])
    canvas.save()
    sentence = f"{lines[0]} {lines[2]}"
    marked = rows_with(picture(tmp_path / "note.pdf", 1, sentence), PALE)
    assert max(marked) - min(marked) > 150
    whole = rows_with(picture(tmp_path / "note.pdf", 1, " ".join(lines)), PALE)
    assert len(whole) > len(marked)


def test_the_picture_begins_a_little_above_the_deciding_sentence(tmp_path):
    canvas = Canvas(str(tmp_path / "long.pdf"), pagesize=A4, invariant=1)
    lines = [f"Line number {n} says something of its own." for n in range(50)]
    write_page(canvas, [(72, 780 - 14 * n, line) for n, line in enumerate(lines)])
    canvas.save()
    cut = picture(tmp_path / "long.pdf", 1, " ".join(lines), lines[45], around_passage=True)
    assert min(rows_with(cut, STRONG)) < 250
    assert not is_cut_through(cut)


def test_a_picture_behind_the_text_does_not_move_the_deciding_sentence_out_of_view(tmp_path):
    canvas = Canvas(str(tmp_path / "art.pdf"), pagesize=A4, invariant=1)
    canvas.setFillColorRGB(0.2, 0.3, 0.6)
    canvas.rect(40, 40, 20, 760, fill=1, stroke=0)
    lines = [f"Line number {n} says something of its own." for n in range(50)]
    canvas.setFillColorRGB(0, 0, 0)
    write_page(canvas, [(72, 780 - 14 * n, line) for n, line in enumerate(lines)])
    canvas.save()
    cut = picture(tmp_path / "art.pdf", 1, " ".join(lines), lines[45], around_passage=True)
    assert min(rows_with(cut, STRONG)) < 250
    dark = np.asarray(cut.convert("L"))[0] < 50
    assert not dark.any()  # no line is cut through


def test_text_that_runs_upwards_is_one_area(tmp_path):
    canvas = Canvas(str(tmp_path / "upwards.pdf"), pagesize=A4, invariant=1)
    canvas.rotate(90)
    write_page(canvas, [(100, -100 - 20 * n, line) for n, line in enumerate(LINES)])
    canvas.save()
    cut = picture(tmp_path / "upwards.pdf", 1, LINES[0], around_passage=True)
    assert cut.height > cut.width
    assert PALE in colours(cut)
