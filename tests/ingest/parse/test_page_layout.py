"""The layout of a PDF page: columns, tables, headings, running headers, right-to-left text."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from crag.cancellation import Cancellation
from crag.ingest.parse.child_process import parse_file
from crag.ingest.parse.document import Block
from crag.ingest.parse.page_layout import join_lines

DEJAVU = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
SENTENCE = "It goes on and on about foxes"


def drawn(*pages: Callable[[Canvas], None]) -> list[Block]:
    out = io.BytesIO()
    canvas = Canvas(out)
    for page in pages:
        page(canvas)
        canvas.showPage()
    canvas.save()
    return list(parse_file("a.pdf", out.getvalue(), stop=Cancellation()).blocks)


def text(blocks: list[Block]) -> str:
    return " ".join(block.text for block in blocks)


def test_columns_drawn_line_by_line_are_read_one_after_the_other():
    def page(canvas: Canvas) -> None:
        canvas.drawString(72, 760, "Above both columns there is a line that is as wide as the page, or nearly so.")
        for number in range(5):
            canvas.drawString(72, 720 - 14 * number, f"{SENTENCE} left {number}")
            if number < 4:
                canvas.drawString(320, 720 - 14 * number, f"{SENTENCE} right {number}")
        canvas.drawString(72, 620, "Below them there is another one, which also goes from side to side of it.")

    places = [text(drawn(page)).index(part) for part in ("Above", "left 0", "left 4", "right 0", "right 3", "Below")]
    assert places == sorted(places)


def test_three_columns_are_told_apart_as_well():
    def page(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 9)
        for number in range(4):
            for column, name in enumerate(("one", "two", "three")):
                canvas.drawString(40 + 180 * column, 700 - 14 * number, f"{SENTENCE}, {name}{number}")

    found = text(drawn(page))
    places = [found.index(f"{name}{number}") for name in ("one", "two", "three") for number in range(4)]
    assert places == sorted(places)


def test_the_cells_of_a_table_stay_in_their_rows():
    def page(canvas: Canvas) -> None:
        canvas.drawString(72, 740, "Before the table.")
        for number, row in enumerate([("kind", "weight", "age"), ("red fox", "9 kg", "4"), ("bear", "300 kg", "")]):
            for column, cell in enumerate(row):
                canvas.drawString(72 + 120 * column, 700 - 18 * number, cell)
        canvas.drawString(72, 620, "Name:")
        canvas.drawString(300, 620, "Date:")

    blocks = drawn(page)
    assert [block.text for block in blocks if block.kind == "row"] == [
        "kind | weight | age",
        "red fox | 9 kg | 4",
        "bear | 300 kg",
    ]
    assert "Name: Date:" in text(blocks)


def test_the_outline_says_what_is_a_heading_and_of_which_level():
    def page(canvas: Canvas) -> None:
        for number, (title, level) in enumerate([("1 Foxes", 0), ("1.1 What they eat", 1)]):
            canvas.bookmarkPage(title)
            canvas.addOutlineEntry(title.partition(" ")[2], title, level)
            canvas.drawString(72, 700 - 28 * number, title)
            canvas.drawString(72, 686 - 28 * number, "This is said below.")

    assert [(block.text, block.level) for block in drawn(page)] == [
        ("1 Foxes", 1),
        ("This is said below.", 0),
        ("1.1 What they eat", 2),
        ("This is said below.", 0),
    ]


def test_a_line_that_is_a_little_larger_is_a_heading_where_it_ends_early():
    def page(canvas: Canvas) -> None:
        lines = ["Emergency drills", f"{SENTENCE}, and", "it goes on about drills.", f"{SENTENCE} without end."]
        for number, line in enumerate(lines):
            canvas.setFont("Helvetica", 11 if number else 13)
            canvas.drawString(72, 700 - 15 * number, line)
        canvas.setFont("Helvetica", 13)  # as the font of a word at the start of a line may be
        canvas.drawString(72, 620, f"{SENTENCE} and")
        canvas.setFont("Helvetica", 11)
        canvas.drawString(72, 605, f"{SENTENCE} and cats.")

    assert [(block.kind, block.text) for block in drawn(page)] == [
        ("heading", "Emergency drills"),
        ("paragraph", f"{SENTENCE}, and it goes on about drills. {SENTENCE} without end."),
        ("paragraph", f"{SENTENCE} and {SENTENCE} and cats."),
    ]


def test_running_headers_are_left_out_and_the_rest_is_kept():
    def page(number: int) -> Callable[[Canvas], None]:
        def draw(canvas: Canvas) -> None:
            canvas.drawString(72, 800, "Annual report of the foxes")
            canvas.drawString(72, 600, f"What happened in month {number}.")
            canvas.drawString(72, 500, "Nothing else happened.")
            canvas.drawString(72, 400, f"So it {'rained' if number % 2 else 'snowed'}, {'again ' * number}as it does.")
            canvas.drawString(300, 30, f"Page {number} of 5")

        return draw

    blocks = drawn(*(page(number) for number in range(1, 6)))
    assert "Annual" not in text(blocks)
    assert "Page" not in text(blocks)
    assert [block.page for block in blocks if "month" in block.text] == [1, 2, 3, 4, 5]
    assert text(blocks).count("Nothing else happened.") == 5


@pytest.mark.parametrize("pages", [3, 4, 9])
def test_running_headers_and_feet_of_several_lines_are_left_out(pages):
    def page(number: int) -> Callable[[Canvas], None]:
        def draw(canvas: Canvas) -> None:
            canvas.drawString(72, 800, "Harbour board")
            canvas.drawString(300, 800, "Confidential")
            canvas.drawString(72, 786, "Minutes of the spring meeting")
            canvas.drawString(72, 740, f"Item {number * 37} is about {'sails ' * number}and their cost.")
            canvas.drawString(72, 726, "The board agrees.")
            canvas.drawString(72, 712, f"It was settled for {number * 91} pounds and will be")
            canvas.drawString(72, 698, "continued")
            canvas.drawString(72, 684, f"Page {number} of {pages}")

        return draw

    found = text(drawn(*(page(number) for number in range(1, pages + 1))))
    assert not any(word in found for word in ("Harbour", "Confidential", "spring", "continued", "Page"))
    assert found.count("The board agrees.") == pages
    assert all(f"It was settled for {number * 91} pounds" in found for number in range(1, pages + 1))


def test_what_only_two_pages_share_is_kept_unless_it_numbers_them():
    def page(number: int) -> Callable[[Canvas], None]:
        def draw(canvas: Canvas) -> None:
            canvas.drawString(72, 800, f"Item {number}")
            canvas.drawString(72, 700, f"{SENTENCE}.")
            canvas.drawString(72, 40, f"Harbour board, issue 9    Page {number}")

        return draw

    found = text(drawn(page(1), page(2)))
    assert "Item 1" in found
    assert "Item 2" in found
    assert "Harbour" not in found


@pytest.mark.skipif(not DEJAVU.exists(), reason="needs a font with Hebrew and Arabic letters")
def test_text_from_right_to_left_comes_in_the_order_it_is_read():
    hebrew, arabic = "שלום עולם זה טקסט בעברית", "مرحبا بالعالم"
    pdfmetrics.registerFont(TTFont("DejaVu", DEJAVU))

    def page(canvas: Canvas) -> None:
        canvas.setFont("DejaVu", 12)
        canvas.drawString(72, 700, hebrew[::-1])  # as programs write it: from left to right
        canvas.drawString(72, 660, arabic[::-1])

    assert text(drawn(page)) == f"{hebrew} {arabic}"


def test_numbers_that_do_not_count_pages_are_kept():
    def invoice(number: int) -> Callable[[Canvas], None]:
        def page(canvas: Canvas) -> None:
            canvas.drawString(72, 780, f"Invoice {number * 7919 % 9000 + 1000}")
            canvas.drawString(72, 700, f"{SENTENCE}.")
            canvas.drawString(72, 40, f"Kettles Ltd. 2024, page {number + 3} of 300")

        return page

    found = text(drawn(*(invoice(number) for number in range(8))))
    assert all(f"Invoice {number * 7919 % 9000 + 1000}" in found for number in range(8))
    assert "Kettles" not in found


KOREAN = (
    "회사는 임직원의 복리후생을 위하여 매년 한 차례 건강검진 비용을 지원하며 배우자에게도 같은 검진을 제공한다. "
    "건강검진 결과는 본인에게만 통지하고 인사 기록에 남기지 아니한다. "
    "휴가를 신청하려는 임직원은 사흘 전까지 부서장의 승인을 받아야 한다."
)


def wrap_korean(wrap: Callable[[str], list[str]]) -> str:
    def page(canvas: Canvas) -> None:
        pdfmetrics.registerFont(UnicodeCIDFont("HYSMyeongJo-Medium"))
        canvas.setFont("HYSMyeongJo-Medium", 11)
        for number, line in enumerate(wrap(KOREAN)):
            canvas.drawString(72, 720 - 16 * number, line)

    return text(drawn(page))


@pytest.mark.parametrize("width", [20, 24, 31])
def test_korean_lines_wrapped_between_words_are_joined_with_spaces(width):
    assert wrap_korean(lambda said: textwrap.wrap(said, width)) == KOREAN


def test_korean_lines_wrapped_inside_a_word_are_joined_without_a_space():
    inside = wrap_korean(lambda said: [said[at : at + 26] for at in range(0, len(said), 26)])
    words = set(KOREAN.split())
    assert sum(word in words for word in inside.split()) >= 0.9 * len(words)


def test_a_particle_at_the_start_of_a_line_belongs_to_the_word_before():
    assert join_lines(["매년 한 차례 건강검진", "을 지원한다."], set()) == "매년 한 차례 건강검진을 지원한다."
    assert join_lines(["매년 한 차례 건강", "검진을 지원한다."], {"건강검진을"}) == "매년 한 차례 건강검진을 지원한다."
    assert join_lines(["복지 포인트", "단체 상해보험"], set()) == "복지 포인트 단체 상해보험"
    assert join_lines(["계약은 2027", "년에 끝난다."], set()) == "계약은 2027년에 끝난다."
    assert join_lines(["青山圖書館於", "1962年開館"], set()) == "青山圖書館於1962年開館"


def test_a_line_with_a_label_stays_a_line_of_its_own():
    lines = (
        "• 세면도구와 운동화, 여벌 옷을 챙겨 오시고 침구는 연수원에서 쓰던 것을 그대로",
        "사용하시기 바랍니다",
        "• 침구는 연수원에서 제공",
        "담당자: 김민수 (내선 1234)",
        "참가 신청은 4월 3일까지 사내 게시판에서 받으며, 취소하려면 4월 8일까지 알려",
        "주시기 바랍니다.",
        "문의: 총무팀",
    )

    def page(canvas: Canvas) -> None:
        pdfmetrics.registerFont(UnicodeCIDFont("HYSMyeongJo-Medium"))
        canvas.setFont("HYSMyeongJo-Medium", 11)
        for number, line in enumerate(lines):
            canvas.drawString(72, 720 - 16 * number, line)

    assert [(block.kind, block.text) for block in drawn(page)] == [
        ("item", f"{lines[0]} {lines[1]}"),
        ("item", lines[2]),
        ("paragraph", lines[3]),
        ("paragraph", f"{lines[4]} {lines[5]}"),
        ("paragraph", lines[6]),
    ]


def test_a_wrapped_value_belongs_to_its_label():
    lines = ("Venue: the large hall on the third floor of the municipal library of Halden,", "beside the lifts.")

    def page(canvas: Canvas) -> None:
        for number, line in enumerate((f"{SENTENCE}, and {SENTENCE}, and on again, as ever.", *lines)):
            canvas.drawString(72, 720 - 16 * number, line)

    assert drawn(page)[-1].text == " ".join(lines)


def test_a_sign_or_an_ending_at_the_start_of_a_line_gets_no_space():
    assert (
        join_lines(["담당자에게 알려 주세요", ". 주차장은 30대까지"], set())
        == "담당자에게 알려 주세요. 주차장은 30대까지"
    )
    assert join_lines(["병가는 30일까지 쓸 수 있", "으며 진단서를"], set()) == "병가는 30일까지 쓸 수 있으며 진단서를"


@pytest.mark.parametrize("letter", ["a", "가"])
def test_a_word_without_end_is_joined_too(letter):
    """A pattern whose time grows with the square of the length would take hours."""
    assert join_lines([letter * 1_000_000, letter], set()).startswith(letter)


@pytest.mark.parametrize(
    ("elsewhere", "first", "second", "read"),
    [
        ("We ran bitops-bitwise-and twice.", "bitops-bitwise-", "and", "bitops-bitwise-and"),
        ("A trace needs no compilation.", "trace-", "compilation", "trace-compilation"),
        ("The compilation ends.", "compi-", "lation", "compilation"),
        ("Not known: well known, or unknown.", "un-", "known", "unknown"),
        ("The implementation works.", "implemen-", "tations", "implementations"),
        ("It is with a table, and out; without a chair.", "with-", "out", "without"),
        ("Nothing of it.", "Smith-", "Jones", "Smith-Jones"),
    ],
)
def test_a_compound_keeps_its_hyphen_at_the_end_of_a_line(elsewhere, first, second, read):
    def page(canvas: Canvas) -> None:
        for number, line in enumerate((elsewhere, f"Here a line ends with {first}", f"{second} in the middle.")):
            canvas.drawString(72, 700 - 14 * number, line)

    assert f"ends with {read} in the middle" in text(drawn(page))


def test_a_notice_at_the_foot_of_a_column_does_not_interrupt_its_sentence():
    def page(canvas: Canvas) -> None:
        for column, name in enumerate(("left", "right")):
            for number in range(6):
                canvas.drawString(60 + 260 * column, 700 - 14 * number, f"{SENTENCE} {name} {number}")
        canvas.drawString(320, 616, "Here it ends.")
        canvas.setFont("Helvetica", 9)
        for number in range(3):
            canvas.drawString(60, 590 - 11 * number, f"Permission to copy this work is granted, part {number}.")

    found = drawn(page)
    assert "left 5 It goes on and on about foxes right 0" in found[0].text
    assert [block.text for block in found][1:] == [
        " ".join(f"Permission to copy this work is granted, part {number}." for number in range(3))
    ]
