"""Definitions: the term that "What is a bowline?" asks about, and sentences that define it."""

from __future__ import annotations

import re

from crag.text.patterns import lazy_regex

_OTHER_WORD = (  # ends a term: "What is the reef knot used for?" asks for no definition
    r"(?:the|an?|of|in|on|at|as|for|from|to|with|by|about|like|that|which|who|it|this|these|those|they|there|he|she|you"
    r"|your|my|our|his|her|their|its|do|does|did|is|are|was|were|has|have|had|made|\w+ed|known)\b"
)
_ASKS = lazy_regex(  # a term without an article, with "a", or a name: "What is the notice period?" asks for a value
    r"\W*(?:what(?:['’]?s| is| are| was| were)|define)(?: meant by)?"
    r" (?:the ((?-i:[A-Z][\w’'-]*(?: [A-Z][\w’'-]*)*))"
    rf"|(?:an? )?((?!{_OTHER_WORD})[\w’'-]+(?: (?!{_OTHER_WORD})[\w’'-]+){{0,3}}))\W*"
    r"|\W*what (?:do|does|did) (?:an? )?(.{2,40}?) (?:mean|stand for)\W*"
    r"|(.{1,30}?)(?:(?:이?란|[은는이가])? ?(?:무엇|뭐|뭔)(?:인가요?|입니까|이?에요|예요|야|인지|이죠?|가요)?"
    r"|의 ?(?:뜻|의미|정의).*)\W*"
    r"|(?:[请請][问問])?(?:什[么麼]是|何[谓謂])(.{1,20}?)\W*"
    r"|(.{1,20}?)(?:是什[么麼](?:意思)?|的(?:意思|定[义義])是什[么麼])\W*",
    re.IGNORECASE,
)
_CODE = lazy_regex(r"\b[A-Za-z]{1,4}-?\d{1,5}[A-Za-z]?$")
_MEANS = (  # "is blue" says what it is, "is stored in" does not
    r"(?:means?|refers? to|denotes?|stands? for|describes?|consists? of|comprises?"
    r"|(?:is|are|was|were) (?:\w+ )?(?:defined as|called)"
    r"|(?:is|are|was|were) (?!(?:\w+ly )?(?:\w{2,}ed|\w+ing|held|built|made|given|taken|found|sold|kept|paid|not|also"
    r"|now|still|in|on|at|to|from|for|by|under|with|subject|due|available)\b))"
)
_DEFINES = (
    r"^\W*(?:(?:an?|the|by) )?{name}(?:e?s)?\b[\"”’*_]*(?: \([^)]*\))?(?:,[^,]*,)? (?:\w+ly |also |often )?"
    + _MEANS
    + r"|\b{name}\b[\"”’*_]* ?(?:[:(–—]|, (?:an?|the|one|any|also)\b)"
    r"|\b(?:called|termed|known as|named|term)(?: an?| the)? [\"“‘*_]*{name}\b"
)
_DEFINES_CJK = (
    r"{name} ?(?:(?:이?란|이?라 함은) |[은는] .*(?:말|뜻|의미|가리키|일컫)[가-힣]*다|[은는] .*(?:이다|입니다)\W*$)"
    r"|{name}[，,]?(?:是指|指的?是|是一|[即系係]|指|意[为為思])|所[谓謂]{name}|[称稱][为為作]?{name}"
)


def find_term(question: str) -> str:
    """Return the term whose definition a question asks for; empty if it asks for something else."""
    asked = _ASKS.fullmatch(question)
    return next(filter(None, asked.groups()), "").strip() if asked else ""


def defines(term: str, sentence: str) -> bool:
    """Return whether a sentence says what a term is: "A bowline is a knot", "a knot called bowline".

    Also a table row that begins with a code: "E06 | Door open".
    """
    if (code := _CODE.search(term)) and re.search(rf"(?:^|: ){re.escape(code[0])} ?[|—]", sentence, re.IGNORECASE):
        return True
    name = r"\W+".join(re.escape(word) for word in term.split())
    form = _DEFINES if re.search("[A-Za-z]", term) else _DEFINES_CJK
    return bool(re.search(form.replace("{name}", name), sentence, re.IGNORECASE))
