"""When one text holds another, and what that cannot see."""

import pytest

from crag.evaluation.scorers import comparable_words, contains_phrase, token_f1


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("It was **Paris**, in 1871 [1].", "paris"),
        ("It was the   Eiffel\nTower.", "an Eiffel tower"),
        ("ReAct uses self reflection", "self-reflection"),
        ("Some 150000 people", "150,000"),
        ("It is 1,250,000.50 kg", "1250000.50"),
        ("The U.S. joined later", "US"),
        ("Ｐａｒｉｓ is full width", "Paris"),
        ("The STRASSE is long", "Straße"),
        ("Einstein's theory", "Einstein"),
        ("It was [1] Lyon [2, 3] then", "was Lyon then"),
        ("He wrote C++ code", "C++"),
        ("Spinach has vitamin A in it", "Vitamin A"),
        ("at −15 °C", "-15 °C"),
        ("It took twelve years", "12 years"),
        ("about 2.5 million people", "2,500,000"),
        ("약 3만 명", "30,000"),
        ("共十二個", "12個"),
        ("from 1914-1918", "1918"),
        ("나가노 오사미는 해군의 최고위 지도자였다.", "나가노 오사미"),
        ("2013년에 데뷔했다.", "2013"),
        ("그 사람은 왕이다.", "왕"),
        ("서울특별시에서", "특별시"),
        ("台灣在1987年解除黨禁。", "1987年"),
        ("中國 抗日\n同盟軍", "中國抗日同盟軍"),
        ("東京タワーです", "タワー"),
        ("it is 😀", "😀"),
        ("قال مُحَمَّد", "محمد"),
    ],
)
def test_held(text, phrase):
    assert contains_phrase(text, phrase)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("There were 15 of them", "5"),
        ("There were 5.5 of them", "5"),
        ("There were 1,005 of them", "5"),
        ("There were 5 million of them", "5"),
        ("It is at -5 degrees", "5"),
        ("They threw a party", "art"),
        ("The B12 vitamin", "12"),
        ("He wrote C++ code", "C"),
        ("Spinach has vitamin C in it", "Vitamin A"),
        ("Tower of the Eiffel", "Eiffel Tower"),
        ("See the source [5].", "5"),
        ("在十二月", "二"),
        ("확대구간", "대구"),
        ("", "Paris"),
        ("Paris", ""),
        ("Paris", "  "),
        ("", ""),
        ("no smile", "😀"),
    ],
)
def test_not_held(text, phrase):
    assert not contains_phrase(text, phrase)


def test_a_negation_is_not_seen():
    """What comparing words cannot do; a judge model can."""
    assert contains_phrase("It is certainly not Paris.", "Paris")


def test_a_bare_article_is_a_word_where_it_is_all_there_is():
    assert comparable_words("A") == ["a"]
    assert contains_phrase("The right choice is A.", "A")


@pytest.mark.parametrize(
    ("one", "other", "f1"),
    [
        ("the cat sat", "A cat sat down", 0.8),  # 2 shared of 2 and 3 words
        ("cat cat cat", "cat", 0.5),  # counted as often as in both
        ("Paris", "Lyon", 0.0),
        ("", "Lyon", 0.0),
        ("", "", 0.0),
        ("왕이다", "왕", 0.5),  # 1 of 3 syllables and 1: a particle costs less than a word would
        ("兩個特徵", "特徵", 2 * 2 / 6),
    ],
)
def test_overlap_is_the_f1_of_shared_words(one, other, f1):
    assert token_f1(comparable_words(one), comparable_words(other)) == pytest.approx(f1)
