"""A question that is longer than the window."""

import pytest

from crag.models.prompt_fit import make_shortener, shorten_question
from crag.models.token_counts import count_tokens

ASK = "When was the lighthouse built?"
TEXTS = {
    "english": "The keeper wrote down the weather of every day in a thick book. " * 800,
    "korean": "등대지기는 매일의 날씨를 두꺼운 책에 적었다. " * 800,
    "chinese": "守塔人每天把天气写进一本厚厚的书里。" * 800,
    "one word": "x" * 40_000,
    "emoji": "😀" * 5_000,
}


@pytest.mark.parametrize("limit", [64, 300, 3000])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_it_fits_and_what_is_left_out_is_counted(text, limit):
    shortened = shorten_question(text, limit, count_tokens)
    kept = count_tokens(shortened.text)
    assert kept <= limit
    assert kept > limit // 2, "no more is left out than must be"
    assert shortened.tokens == count_tokens(text)
    assert shortened.left_out == shortened.tokens - kept


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("asked", ["{ask}\n\n{text}", "{text}\n\n{ask}"])
def test_what_is_asked_stays_whether_it_stands_first_or_last(text, asked):
    assert ASK in shorten_question(asked.format(ask=ASK, text=text), 300, count_tokens).text


def test_words_stay_whole():
    first, _, last = shorten_question(TEXTS["english"], 300, count_tokens).text.partition("\n[…]\n")
    assert TEXTS["english"].startswith(f"{first} ")
    assert f" {last}" in TEXTS["english"]


def test_a_question_that_fits_stays_as_it_is():
    shortened = make_shortener([])(ASK)
    assert (shortened.text, shortened.left_out) == (ASK, 0)


def test_the_built_in_engine_reads_the_beginning_and_the_end_too():
    shortened = make_shortener([])(TEXTS["english"] + ASK)
    assert shortened.text.endswith(ASK)
    assert shortened.left_out > 0
