"""Web pages: the main text with title, author and date, without what surrounds it."""

from __future__ import annotations

import pytest

from crag.cancellation import Cancellation
from crag.errors import SourceRefused
from crag.ingest.parse.child_process import parse_file
from crag.ingest.parse.document import Document

CHROME_BEFORE = """<header><a href="/">Kettle News</a><nav><ul><li><a href="/a">Subscribe</a></li></ul></nav></header>
<div id="cookie-banner"><p>We use cookies to improve your experience. By continuing you accept our policy.</p></div>
<div id="onetrust-consent-sdk"><p>We value your privacy and store information on your device for our partners.</p></div>
"""
CHROME_AFTER = """<section id="comments" class="comments"><h2>Comments</h2>
<p>I disagree with all of this, my own kettle is much better than yours.</p></section>
<div id="disqus_thread"><p>What a great comment this is, thank you so much for it.</p></div>
<aside class="related"><h3>Related articles</h3><ul><li><a href="/x">Ten best toasters</a></li></ul></aside>
<footer><p>© 2019 Kettle News. All rights reserved.</p></footer>
"""
ENGLISH = """<h1>How kettles work</h1><p>A kettle is a vessel in which water is heated until it boils. The element in
its base turns electric current into heat, and the water carries that heat upwards.</p>
<h2>Parts</h2><p>Every kettle has these parts, and each of them may break after years of daily use in a kitchen:</p>
<ul><li>a heating element</li><li>a thermostat<ul><li>made of two metals</li></ul></li><li>a whistle</li></ul>
<h3>Times to boil</h3><table><tr><th>Volume</th><th>Time</th></tr><tr><td>1 litre</td><td>150 seconds</td></tr></table>
<p>The time may be computed with a little program, given the power in watts:</p>
<pre><code>def seconds(litres, watts):
    return litres * 4186 * 80 / watts
</code></pre><blockquote><p>A watched kettle never boils.</p></blockquote>"""
SAID = """<meta property="og:title" content="How kettles work"><meta name="author" content="Ada Lovelace">
<meta property="article:published_time" content="2024-03-05T10:00:00Z">"""


def read(html: str) -> Document:
    return parse_file("page", html.encode(), content_type="text/html", charset="utf-8", stop=Cancellation())


def page(main: str, head: str = "", title: str = "How kettles work | Kettle News") -> str:
    body = f"{CHROME_BEFORE}<main><article>{main}</article>{CHROME_AFTER}</main>"
    return f"<!doctype html><html><head><title>{title}</title>{head}</head><body>{body}</body></html>"


def test_a_page_is_reduced_to_text_with_its_structure():
    blocks = read(page(ENGLISH, SAID)).blocks
    assert [(block.kind, block.text) for block in blocks if block.kind != "paragraph"] == [
        ("heading", "How kettles work"),
        ("heading", "Parts"),
        ("item", "- a heating element"),
        ("item", "- a thermostat"),
        ("item", "- made of two metals"),
        ("item", "- a whistle"),
        ("heading", "Times to boil"),
        ("header", "Volume | Time"),
        ("row", "1 litre | 150 seconds"),
        ("code", "def seconds(litres, watts):\n    return litres * 4186 * 80 / watts"),
    ]
    assert [block.text.split()[:2] for block in blocks if block.kind == "paragraph"] == [
        ["A", "kettle"],
        ["Every", "kettle"],
        ["The", "time"],
        ["A", "watched"],
    ]


def test_cells_of_links_keep_their_text():
    facts = """<table><tr><th scope="row">Founders</th><td><ul><li><a href="/ada">Ada Lovelace</a></li>
    <li><a href="/max">Max Born</a></li></ul></td></tr><tr><th scope="row"><a href="/income">Operating income</a></th>
    <td>88 million</td></tr><tr><th scope="row">Seat</th><td><a href="/dover">Dover</a>,
    <div><a href="/kent">Kent</a></div>
    </td></tr></table>"""
    rows = [block.text for block in read(page(ENGLISH + facts)).blocks if block.kind == "row"]
    assert rows[-3:] == ["Founders | Ada Lovelace, Max Born", "Operating income | 88 million", "Seat | Dover, Kent"]


def test_cells_that_span_columns_or_rows_belong_to_each():
    table = """<table><tr><td colspan="4">Prices from May</td></tr>
    <tr><th rowspan="2">Service</th><th colspan="2">Price</th><th rowspan="2">Discount</th></tr>
    <tr><th>Members</th><th>Guests</th></tr><tr><td>Repair</td><td>€ 1,234</td><td>€ 1,490.50</td><td>12 %</td></tr>
    <tr><td rowspan="2">Painting</td><td>€ 640</td><td>€ 700</td><td>8 %</td></tr>
    <tr><td>€ 80</td><td>€ 95</td><td colspan="999999999">5 %</td></tr></table>"""
    blocks = read(page(ENGLISH + table)).blocks
    assert [block.text for block in blocks if block.kind in ("header", "row")][2:] == [
        "Prices from May · Service | Price · Members | Price · Guests | Discount",
        "Repair | € 1,234 | € 1,490.50 | 12 %",
        "Painting | € 640 | € 700 | 8 %",
        "Painting | € 80 | € 95 | 5 %",
    ]


def test_a_caption_above_several_columns_is_above_each_of_them():
    table = """<table><caption>Kettles of Odby</caption>
    <tr><th></th><th colspan="2">2023</th><th colspan="2">2022</th></tr>
    <tr><th>Kind</th><th>Sold</th><th>Returned</th><th>Sold</th><th>Returned</th></tr>
    <tr><td>Steel</td><td>40</td><td>3</td><td>38</td><td>(2)</td></tr></table>"""
    headers = [block.text for block in read(page(ENGLISH + table)).blocks if block.kind == "header"]
    assert headers[-1] == "Kettles of Odby · Kind | 2023 · Sold | 2023 · Returned | 2022 · Sold | 2022 · Returned"


@pytest.mark.parametrize(
    ("source", "read_as"),
    [
        ('Revenue<sup><a href="#n3">3</a></sup> rose.', "Revenue rose."),
        ('It rose by 12<sup id="r1"><a href="#n1">[1]</a></sup> last year.', "It rose by 12 last year."),
        ('It rose.<a href="#n2"><sup>2</sup></a> Later it fell.', "It rose. Later it fell."),
        ("Income<sup>4</sup> fell.<sup>5,6</sup> It rose.<sup>*</sup>", "Income fell. It rose."),
        ("매출<sup>2)</sup>은 늘었다.", "매출은 늘었다."),
        ("收入<sup>[2]</sup>增长。", "收入增长。"),
        ("It has 40 m<sup>2</sup> and 10<sup>6</sup> cells.", "It has 40 m2 and 106 cells."),
        ("It has 40 metres<sup>2</sup>.", "It has 40 metres2."),
        ("The 21<sup>st</sup> kettle.", "The 21st kettle."),
        (
            'It sells.<sup class="reference">[14]</sup><sup><span>:&#8202;111,&#8202;228&#8202;</span></sup> It',
            "It sells. It",
        ),
        ('It boils,<sup>[<i><a href="/d">dubious</a> – <a href="/t">discuss</a></i>]</sup> or so.', "It boils, or so."),
        ('In 2023<sup style="display:none"><a href="/edit">[update]</a></sup>, it boils.', "In 2023, it boils."),
        ('It boils.<sup>[<a href="/n">citation needed</a>]</sup> So it does.', "It boils. So it does."),
        ('壶水会开。<sup>[<a href="/n">來源請求</a>]</sup>然后', "壶水会开。然后"),
    ],
)
def test_raised_marks_of_notes_are_left_out_and_exponents_stay(source, read_as):
    found = read(page(f"{ENGLISH}<p>{source} Every kettle has a lid and a base that is warm.</p>"))
    assert any(block.text.startswith(read_as) for block in found.blocks)


def test_the_title_of_a_list_of_properties_has_no_bars():
    table = """<table><tr><th colspan="2">Kettles of Odby</th></tr><tr><th>Founded</th><td>1975</td></tr>
    <tr><th>Founders</th><td>Ada and Bea</td></tr><tr><th>Seat</th><td>Odby</td></tr></table>"""
    rows = [block.text for block in read(page(ENGLISH + table)).blocks if block.kind == "row"]
    assert {"Kettles of Odby", "Founded | 1975"} <= set(rows)


def test_title_author_and_date_are_those_the_page_states():
    document = read(page(ENGLISH, SAID))
    assert (document.title, document.author, document.published) == ("How kettles work", "Ada Lovelace", "2024-03-05")
    navigation = '<div role="navigation" class="navbox authority-control"><a href="/a">Authority control</a></div>'
    unsigned = read(page(ENGLISH + navigation))
    assert (unsigned.author, unsigned.published) == ("", "")


def test_authors_named_twice_are_told_once_and_in_order():
    head = """<meta property="article:author" content="山田 太郎"><script type="application/ld+json">
    {"@context": "https://schema.org", "@type": "NewsArticle", "headline": "やかん", "datePublished": "2022-01-09",
     "author": [{"@type": "Person", "name": "山田太郎"}, {"@type": "Person", "name": "鈴木 花子"}]}</script>"""
    document = read(page(ENGLISH, head))
    assert (document.author, document.published) == ("山田 太郎; 鈴木 花子", "2022-01-09")


KOREAN = """<h1>주전자의 원리</h1><p>주전자는 물을 끓이는 데 쓰는 그릇이다. 바닥의 열선이 전류를 열로 바꾸고, 물은
대류로 그 열을 위로 나른다.</p><h2>부품</h2><ul><li>열선</li><li>온도 조절기</li></ul><table>
<tr><th>부피</th><th>시간</th></tr><tr><td>1리터</td><td>150초</td></tr></table>"""
CHINESE = """<h1>水壶的原理</h1><p>水壶是用来烧水的容器。底部的电热丝把电流变成热量，水通过对流把热量带到上面。</p>
<h2>零件</h2><ul><li>电热丝</li><li>温控器</li></ul><table><tr><th>容量</th><th>时间</th></tr><tr><td>一升</td><td>150秒</td></tr></table>"""
JAPANESE = """<h1>やかんの仕組み</h1><p>やかんは水を沸かすための器である。底の電熱線が電流を熱に変え、水は
対流によってその熱を上へ運ぶ。</p><h2>部品</h2><ul><li>電熱線</li><li>温度調節器</li></ul><table><tr><th>量</th><th>時間</th></tr><tr><td>一升</td>
<td>150秒</td></tr></table>"""


@pytest.mark.parametrize(
    ("main", "author", "notice"),
    [
        (KOREAN, "김철수", "이 웹사이트는 쿠키를 사용합니다."),
        (CHINESE, "王小明", "本网站使用Cookie以改善您的体验。"),
        (JAPANESE, "山田太郎", "当サイトではクッキーを使用しています。"),
    ],
    ids=["Korean", "Chinese", "Japanese"],
)
def test_short_pages_in_other_scripts_keep_their_shape(main, author, notice):
    head = f'<meta name="author" content="{author}">'
    body = f'<nav>메뉴 首页</nav><div class="cookie-notice"><p>{notice}</p></div><div id="content">{main}</div>'
    after = f'<div id="comments"><p>{notice}</p></div><div class="footer">© 2026</div>'
    document = read(f"<html><head><title>x</title>{head}</head><body>{body}{after}</body></html>")
    kinds = [block.kind for block in document.blocks]
    assert kinds == ["heading", "paragraph", "heading", "item", "item", "header", "row"]
    assert document.author == author
    assert notice not in " ".join(block.text for block in document.blocks)


def test_a_short_page_is_read_whole_without_menus_and_scripts():
    html = "<body><header>Logo</header><nav>Menu</nav><script>var x = 1</script><p>Hi there.</p><footer>©</footer>"
    document = read(f"<html><head><title>Tiny</title><style>p {{}}</style></head>{html}</body></html>")
    assert (document.title, [block.text for block in document.blocks]) == ("Tiny", ["Hi there."])


def test_a_page_drawn_by_a_program_is_refused_in_words():
    html = "<html><head><title>App</title></head><body><div id='root'></div><script>draw()</script></body></html>"
    with pytest.raises(SourceRefused, match="may need JavaScript") as caught:
        read(html)
    assert caught.value.code == "no_text"
