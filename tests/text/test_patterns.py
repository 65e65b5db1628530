import re

import pytest

from crag.text.patterns import lazy_regex


def test_it_matches_as_the_compiled_one_does():
    lazy, compiled = lazy_regex(r"(\w+) Teas?\b", re.IGNORECASE), re.compile(r"(\w+) Teas?\b", re.IGNORECASE)
    text = "Green tea and black teas."
    assert lazy.findall(text) == compiled.findall(text) == ["Green", "black"]
    assert lazy.sub(r"\1", text) == compiled.sub(r"\1", text)
    assert (lazy.pattern, lazy.search("coffee")) == (compiled.pattern, None)


def test_it_is_compiled_when_it_is_first_used():
    broken = lazy_regex("(")
    with pytest.raises(re.error):
        broken.search("")
