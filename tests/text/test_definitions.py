"""Terms that are asked about, and sentences that define them."""

import pytest

from crag.text.definitions import defines, find_term


@pytest.mark.parametrize(
    ("question", "term"),
    [
        ("What is a bowline?", "bowline"),
        ("What is the Orbel?", "Orbel"),
        ("What does TCO mean?", "TCO"),
        ("What is the notice period?", ""),
        ("What is the Orbel used for?", ""),
        ("What is the Rhine Gorge listed as?", ""),
        ("What is the capital of Varn?", ""),
        ("재택근무란 무엇인가요?", "재택근무"),
        ("什麼是遠距工作？", "遠距工作"),
    ],
)
def test_a_term_is_a_name_or_has_no_article(question, term):
    assert find_term(question) == term


@pytest.mark.parametrize(
    ("term", "sentence", "is_definition"),
    [
        ("bowline", "A bowline is a knot that does not slip.", True),
        ("bowline", "Bowlines (see page 3) are knots.", True),
        ("bowline", "This knot is called the bowline.", True),
        ("bowline", "The bowline, a knot, is strong.", True),
        ("bowline", "A bowline must be tied by two sailors.", False),
        ("bowline", "The bowline was introduced in 1911.", False),
        ("remote work", "Remote work means work done away from the office.", True),
        ("remote work", "Remote work is allowed on Fridays.", False),
        ("재택근무", "재택근무란 회사 밖에서 일하는 것을 말한다.", True),
        ("재택근무", "재택근무는 2020년에 도입되었다.", False),
        ("遠距工作", "遠距工作是指在公司以外的地方工作。", True),
        ("遠距工作", "遠距工作於2020年開始實施。", False),
    ],
)
def test_a_definition_says_what_a_thing_is(term, sentence, is_definition):
    assert defines(term, sentence) is is_definition
