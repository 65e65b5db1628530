"""The kind of a question whose wording leaves it open, by one token of a language model, and its division in steps."""

from __future__ import annotations

from crag.cancellation import Cancellation
from crag.concurrency.caches import LRUCache
from crag.errors import ModelFault
from crag.grading.model_replies import ask_in_parallel, read_likeliest
from crag.prompts import compose_prompt
from crag.protocols import ChatModel
from crag.text.language import detect_language, is_in_language_of
from crag.text.nested_questions import depends_on
from crag.text.patterns import lazy_regex
from crag.text.routes import MAX_PARTS
from crag.text.sanitization import to_one_line
from crag.types import Route

_WORDS: dict[str, Route] = {
    "fact": "fact",
    "overview": "document",
    "list": "list",
    "calculation": "table",
    "steps": "steps",
}
_LINE_MARK = lazy_regex(r"^\s*(?:[-*•]|\[?\d[\].):])\s*")
_MIN_SHARE = 0.5  # of the probability of all words; below it, the model is undecided


class ModelRouteJudge:
    """`RouteJudge` that asks `model` for one word, once for each question while `routes` keeps the replies.

    It asks for the steps of a question only when one is answered so.
    """

    def __init__(self, model: ChatModel, routes: LRUCache[tuple[str, str], Route | None]) -> None:
        self._model = model
        self._routes = routes

    def judge(self, question: str, stop: Cancellation) -> Route | None:
        """See `RouteJudge`."""
        key = self._model.fingerprint, question
        if (known := self._routes.get(key)) is not None:
            return known
        prompts = compose_prompt("route", question=question)  # the words to reply are English anyway

        def ask(_index: int, limited: Cancellation) -> Route | None:
            route: Route | None
            route, share = read_likeliest(self._model.first_token(prompts, limited), _read_word)
            return route if share is None or share >= _MIN_SHARE else None

        try:
            _, route = next(ask_in_parallel(self._model, ask, 1, lambda _index, _fault: None, stop))
        except ModelFault:  # the user learns about it when the answer is written
            return None
        if route is not None:
            self._routes.put(key, route)
        return route

    def split(self, question: str, stop: Cancellation) -> tuple[str, ...]:
        """See `RouteJudge`."""
        prompts = compose_prompt("split", detect_language(question), question=question)
        try:
            return _read_questions(self._model.complete(prompts, stop).text, question)
        except ModelFault:  # the user learns about it when the answer is written
            return ()


def _read_questions(reply: str, question: str) -> tuple[str, ...]:
    """Return the questions of a reply, one a line; none if one refers to itself or to a later one."""
    lines = (_LINE_MARK.sub("", to_one_line(line)) for line in reply.splitlines())
    asked = [line for line in lines if line.endswith(("?", "？")) and is_in_language_of(line, question)][:MAX_PARTS]
    is_in_order = all(depends_on(line) < number for number, line in enumerate(asked, start=1))
    return tuple(asked) if len(asked) > 1 and is_in_order else ()


def _read_word(word: str) -> Route | None:
    """Return the route whose word begins with these letters: the first token may be part of a word."""
    return next((route for name, route in _WORDS.items() if word and name.startswith(word)), None)
