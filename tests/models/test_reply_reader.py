"""Reading replies over real HTTP: thinking, runaway repetition, and log probabilities of the first token."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from crag.cancellation import Cancellation
from crag.errors import ModelFault, Stopped
from crag.models import chat_models
from crag.models.chat_models import THINKING_TOKENS, open_chat_model
from crag.models.reply_reader import Runaway, RunawayGuard, ThoughtSplitter, parse_alternatives
from crag.models.token_counts import count_tokens
from crag.options import ModelParameters
from crag.protocols import ChatModel, ReplyPiece
from crag.settings import Settings
from crag.types import ModelCall, Prompt
from tests.doubles.ollama_values import LLAMA, Model, Say
from tests.doubles.outbound_log import ListOutboundLog

ASK = [Prompt("user", "What is the capital of France?")]
QWEN = Model("qwen3:8b", "qwen3", thinks=True, digest="e" * 64)
SCHEMA = {"type": "object"}
BEGIN = "Paris has been the capital since 987. "
LONG_UNIT = " ".join(f"Step {n} of the plan is to look at house {n * 37 % 101} again." for n in range(12)) + "\n"

POLAR = [Prompt("system", "Yes or no?"), Prompt("user", "Is Paris the capital of France?")]
LIKELY = {"Yes": -0.1, "No": -2.4, " yes": -5.0}


def split(*pieces: str) -> tuple[str, str]:
    splitter = ThoughtSplitter()
    told = [*(splitter.split(piece) for piece in pieces), splitter.flush()]
    return "".join(text for text, _ in told), "".join(thought for _, thought in told)


@pytest.mark.parametrize(
    ("reply", "text", "thought"),
    [
        ("<think>Hm, France. </think> Paris.", "Paris.", "Hm, France. "),
        ("\n<think>\nHm</think>\n\n<think>more</think>\nParis </think>.", "Paris </think>.", "\nHmmore"),
        ("<think>never ends, or </thi", "", "never ends, or </thi"),
        ("<think></think>", "", ""),
        ("The tag <think> opens a thought.", "The tag <think> opens a thought.", ""),
        ("<thin ice", "<thin ice", ""),
        ("  <th", "<th", ""),
        (" \n ", "", ""),
        ("a < b", "a < b", ""),
        ("</think>\n\nParis.", "Paris.", ""),
        ("</th", "</th", ""),
    ],
)
def test_a_leading_thought_is_told_apart_however_it_comes(reply, text, thought):
    for size in (1, 2, 3, 7, 100):
        assert split(*(reply[at : at + size] for at in range(0, len(reply), size))) == (text, thought)


def streamed(
    settings: Settings, name: str, *, thinking: bool, tuning: ModelParameters = ModelParameters()
) -> list[ReplyPiece]:
    model = open_chat_model(f"ollama:{name}", settings, tuning=tuning, thinking=thinking)
    return list(model.stream(ASK, Cancellation()))


def told(pieces: list[ReplyPiece]) -> tuple[str, str]:
    return "".join(piece.text for piece in pieces), "".join(piece.thought for piece in pieces)


def test_what_a_model_thinks_comes_first_and_beside_its_answer(ollama, settings):
    ollama.models = [QWEN]
    ollama.script = lambda asked: Say("It is Paris.", thought="Hm, let me see.")
    pieces = streamed(settings, "qwen3:8b", thinking=True)
    assert told(pieces) == ("It is Paris.", "Hm, let me see.")
    assert len([piece for piece in pieces if piece.thought]) > 1
    assert ollama.chats[0].body["think"] is True


def test_thoughts_have_tokens_of_their_own_within_the_window(ollama, settings):
    ollama.models = [QWEN, replace(QWEN, name="tiny:1b", context_length=2048)]
    for name, expected in (("qwen3:8b", 1024 + THINKING_TOKENS), ("tiny:1b", 1024 + 2048 // 4)):
        streamed(settings, name, thinking=True)
        assert ollama.chats[-1].body["options"]["num_predict"] == expected
        assert open_chat_model(f"ollama:{name}", settings, thinking=True).answer_limit == expected
    assert streamed(settings, "qwen3:8b", thinking=False)
    assert ollama.chats[-1].body["options"]["num_predict"] == 1024


def test_what_is_not_wanted_is_left_out(ollama, settings):
    ollama.models = [QWEN]
    ollama.script = lambda asked: Say("<think>Hm.</think>Paris.", thought="Hm, let me see.")
    assert told(streamed(settings, "qwen3:8b", thinking=False)) == ("Paris.", "")
    assert ollama.chats[0].body["think"] is False


def test_a_thought_in_the_text_is_told_where_it_is_wanted(ollama, settings):
    ollama.script = lambda asked: Say("<think>Hm, France.</think> It is Paris.")
    assert told(streamed(settings, "llama3.1:8b", thinking=True)) == ("It is Paris.", "Hm, France.")


@pytest.mark.parametrize("model", [LLAMA, replace(LLAMA, capabilities=())], ids=["cannot", "does not tell"])
def test_a_model_that_cannot_think_is_not_asked_to(ollama, settings, model):
    """A real server answers 400 to such a wish."""
    ollama.models = [model]
    ollama.script = lambda asked: Say("Paris.")
    assert told(streamed(settings, "llama3.1:8b", thinking=True)) == ("Paris.", "")
    assert ollama.chats[0].body["think"] is False
    assert ollama.chats[0].body["options"]["num_predict"] == 1024


def test_verdicts_are_given_without_thinking(ollama, settings):
    ollama.models = [QWEN]
    ollama.script = lambda asked: Say('{"score": 1}' if asked.schema else "Yes", thought="No, not at all.")
    model = open_chat_model("ollama:qwen3:8b", settings, thinking=True)
    assert model.complete(ASK, Cancellation(), schema=SCHEMA).text == '{"score": 1}'
    assert model.first_token(ASK, Cancellation()).text == "Yes"
    assert [asked.body["think"] for asked in ollama.chats] == [False, False]


def test_a_model_that_only_thought_has_written_nothing(ollama, settings):
    ollama.models = [QWEN]
    ollama.script = lambda asked: Say("Paris.", thought=" ".join(f"Hm{n}." for n in range(5_000)))
    pieces = streamed(settings, "qwen3:8b", thinking=True, tuning=ModelParameters(answer_limit=100))
    assert told(pieces)[0] == ""
    assert pieces[-1].usage is not None
    assert pieces[-1].usage.finish_reason == "thought"


def test_a_thought_that_goes_round_in_circles_is_ended(ollama, settings):
    ollama.models = [QWEN]
    ollama.script = lambda asked: Say("Paris.", thought="But wait. " * 900, unlimited=True)
    pieces = streamed(settings, "qwen3:8b", thinking=True)
    assert pieces[-1].usage is not None
    assert (told(pieces)[0], pieces[-1].usage.finish_reason, pieces[-1].repeated) == ("", "repetition", 0)
    assert len(told(pieces)[1]) < 800


def pieces_of(text: str, size: int = 5) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def read(text: str, answer_limit: int = 100_000, size: int = 5) -> tuple[Runaway | None, str]:
    """What the guard says, and the text until then."""
    guard, read = RunawayGuard(answer_limit), ""
    for piece in pieces_of(text, size):
        read += piece
        if found := guard.read(piece):
            return found, read
    return None, read


@pytest.mark.parametrize(
    "unit",
    ["a", " ", "\n", "ab", "的", "好的。", "The same sentence again. ", "- item\n", "aab" * 10 + "c", LONG_UNIT],
    ids=["a", "space", "line", "ab", "char", "cjk", "sentence", "item", "inner", "long"],
)
@pytest.mark.parametrize("size", [1, 5, 60])
def test_a_unit_again_and_again_is_noticed_and_cut_to_one(unit, size):
    needed = max(400, 8 * len(unit))
    found, text = read(BEGIN + unit * (3 * needed // len(unit)), size=size)
    assert found is not None
    assert found.reason == "repetition"
    assert len(text) <= len(BEGIN) + 2.6 * needed + size
    kept = text[: len(text) - found.repeated]
    assert abs(len(kept) - len(BEGIN + unit)) <= len(unit)  # where the unit begins is not told by its repetition
    assert (BEGIN + unit * 2).startswith(kept)


def test_seven_times_is_not_enough():
    assert read(BEGIN + LONG_UNIT * 7)[0] is None


HONEST = {
    "table": "| Year | Visitors | Change |\n|---|---|---|\n"
    + "".join(f"| {1990 + n} | {(n * 7919) % 9973:,} | {(n * 31) % 17 - 8:+d} % |\n" for n in range(80)),
    "table of yes and no": "| Country | EU | Euro |\n|---|---|---|\n"
    + "".join(
        f"| Country {n} | {'yes' if n * n % 7 < 4 else 'no'} | {'yes' if n % 5 else 'no'} |\n" for n in range(80)
    ),
    "list": "".join(f"{n}. The {n}th member joined in {1950 + n}.\n" for n in range(1, 120)),
    "column": "".join(f"{(n * n * 17) % 1000 / 100:.2f}\n" for n in range(400)),
    "counting": "".join(f"{n}\n" for n in range(1000)),
    "code": "def build():\n"
    + "".join(
        f"    if value == {n}:\n        return names[{n}]\n    elif value is None:\n        pass\n" for n in range(60)
    ),
    "html": "".join(f"<tr><td>{n % 3}</td><td>{n % 7}</td><td>{n * n % 11}</td></tr>\n" for n in range(80)),
    "rule": "Title\n" + "=" * 120 + "\nText that follows.\n" + "-" * 120 + "\nMore.\n",
    "refrain": "".join(f"Verse {n}: something new happens here.\nAnd the band played on.\n\n" for n in range(40)),
    "short refrain": "Row, row, row your boat. " * 15,
    "korean": "".join(f"{n}번째 방문객은 {n * 13 % 60}분에 도착했습니다.\n" for n in range(120)),
    "json": "[" + ", ".join(f'{{"id": {n}, "score": 0.{n * 37 % 90 + 10}}}' for n in range(120)) + "]",
    "indented": "".join(" " * (n % 60) + "*\n" for n in range(200)),
}


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST.keys())
def test_honest_text_is_left_alone(text):
    assert [read(text, size=size)[0] for size in (1, 4, 50)] == [None] * 3


def test_a_token_costs_the_same_however_long_the_reply():
    words = [f"word{n * 7919 % 10_007} " for n in range(40_000)]

    def seconds(count: int) -> float:
        guard, began = RunawayGuard(10**6), time.thread_time()
        for word in words[:count]:
            guard.read(word)
        return (time.thread_time() - began) / count

    assert min(seconds(40_000) for _ in range(3)) < 8 * min(seconds(2_000) for _ in range(3))  # quadratic: 20 times


def test_an_endless_reply_is_ended_and_its_connection_closed(ollama, settings):
    again = "It is a city on the Seine. "
    ollama.script = lambda asked: Say(BEGIN + again * 400, unlimited=True, end="hang")
    *pieces, last = open_chat_model("ollama:llama3.1:8b", settings).stream(ASK, Cancellation())
    assert last.usage is not None
    assert last.usage.finish_reason == "repetition"
    text = "".join(piece.text for piece in pieces)
    assert text[: len(text) - last.repeated].strip() == (BEGIN + again).strip()
    assert len(text) < len(BEGIN) + 800
    ollama.wait_until(lambda: ollama.chats[0].outcome == "dropped")


def test_a_whole_reply_is_cut_back(ollama, settings):
    ollama.script = lambda asked: Say('{"score": ' + " " * 5_000, unlimited=True)
    reply = open_chat_model("ollama:llama3.1:8b", settings).complete(ASK, Cancellation())
    assert (reply.text.strip(), reply.usage.finish_reason) == ('{"score":', "repetition")


def test_a_stream_the_server_ended_over_repeats_says_so(ollama, settings):
    """More than 30 equal tokens end a real server's stream without its end mark."""
    ollama.script = lambda asked: Say("Paris is" + " very" * 31, end="no_done")
    reply = open_chat_model("ollama:llama3.1:8b", settings).complete(ASK, Cancellation())
    assert (reply.text, reply.usage.finish_reason) == ("Paris is very", "repetition")


@pytest.mark.parametrize(("times", "end"), [(35, "no_done"), (99, "hang")], ids=["by the server", "by the reader"])
def test_a_reply_ended_for_repeating_itself_counts_its_tokens(ollama, settings, times, end):
    """Neither end comes with the server's count: each line of the stream is one token."""
    ollama.script = lambda asked: Say("Paris is" + " very" * times, end=end, unlimited=True)
    stop, calls = Cancellation(), list[ModelCall]()
    stop.on_model_call = calls.append
    usage = open_chat_model("ollama:llama3.1:8b", settings).complete(ASK, stop).usage
    assert usage.answer_tokens == len(calls[0].reply.split()) > 30
    assert usage.prompt_tokens == sum(count_tokens(prompt.text) for prompt in ASK)
    assert (calls[0].prompt_tokens, calls[0].answer_tokens) == (usage.prompt_tokens, usage.answer_tokens)
    assert not usage.prompt_cut


@pytest.mark.parametrize("text", ["word", "一二三四五六七八九十"])
def test_a_server_that_knows_no_limit_is_ended(ollama, settings, text):
    ollama.script = lambda asked: Say(" ".join(f"{text}{n}" for n in range(3_000)), unlimited=True, end="hang")
    model = open_chat_model("ollama:llama3.1:8b", settings, tuning=ModelParameters(answer_limit=256))
    reply = model.complete(ASK, Cancellation())
    assert reply.usage.finish_reason == "length"
    assert 256 < len(reply.text.split()) < 400
    ollama.wait_until(lambda: ollama.chats[0].outcome == "dropped")


def test_a_repeated_thought_ends_the_reply(ollama, settings):
    ollama.script = lambda asked: Say("<think>" + "But wait. " * 900, unlimited=True, end="hang")
    reply = open_chat_model("ollama:llama3.1:8b", settings).complete(ASK, Cancellation())
    assert (reply.text, reply.usage.finish_reason) == ("", "repetition")


def opened(settings: Settings) -> ChatModel:
    return open_chat_model("ollama:llama3.1:8b", settings)


def test_one_token_comes_with_its_alternatives(ollama, settings):
    ollama.script = lambda asked: Say("Yes it is", alternatives=LIKELY, prompt_tokens=40)
    said = opened(settings).first_token(POLAR, Cancellation())
    assert (said.text, said.alternatives) == ("Yes", LIKELY)
    assert (said.usage.prompt_tokens, said.usage.answer_tokens) == (40, 1)
    assert ollama.chats[0].tokens_sent == 1


def test_it_asks_for_no_other_window_than_every_role(ollama, settings):
    model = opened(settings)
    model.first_token(POLAR, Cancellation())
    model.complete(POLAR, Cancellation())
    one, whole = (asked.body for asked in ollama.chats)
    assert one["options"] == whole["options"] | {"num_predict": 1}
    assert (one["logprobs"], one["think"], one["keep_alive"]) == (True, False, whole["keep_alive"])
    assert one["top_logprobs"] == 20
    assert not whole.get("logprobs")


def test_an_old_server_gives_the_text_alone(ollama, settings):
    ollama.version = "0.12.10"
    ollama.script = lambda asked: Say("Yes", alternatives=LIKELY)
    said = opened(settings).first_token(POLAR, Cancellation())
    assert (said.text, said.alternatives) == ("Yes", {})


def test_faults_and_stops_are_those_of_every_call(ollama, settings):
    model = opened(settings)
    ollama.fail_next(2, 503)
    assert model.first_token(POLAR, Cancellation()).text
    assert len(ollama.chats) == 3
    ollama.fail_next(1, 404, "model 'llama3.1:8b' not found")
    with pytest.raises(ModelFault, match="no model called"):
        model.first_token(POLAR, Cancellation())
    ollama.script = lambda asked: Say("Yes", first_token_after=60)
    stop = Cancellation()
    threading.Timer(0.1, stop.cancel).start()
    with pytest.raises(Stopped):
        model.first_token(POLAR, stop)


class Hosted(BaseChatModel):
    """A provider's model that says Yes; with log-probabilities as OpenAI streams them, or refusing to tell them."""

    refuses: bool = False
    asked: list[dict[str, Any]] = []  # noqa: RUF012 — pydantic copies it

    @property
    def _llm_type(self) -> str:
        return "hosted"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> Iterator[Any]:
        self.asked.append(options)
        if options.get("logprobs") and self.refuses:
            error = RuntimeError("logprobs are not supported")
            error.status_code = 400  # type: ignore[attr-defined]
            raise error
        yield ChatGenerationChunk(message=AIMessageChunk(""), generation_info={"logprobs": {"content": []}})
        top = [{"token": token, "logprob": value, "bytes": None} for token, value in LIKELY.items()]
        told = {"content": [{"token": "Yes", "logprob": -0.1, "top_logprobs": top}]} if "logprobs" in options else None
        yield ChatGenerationChunk(message=AIMessageChunk("Yes"), generation_info={"logprobs": told} if told else None)


def hosted(monkeypatch: pytest.MonkeyPatch, name: str, refuses: bool = False) -> tuple[Hosted, ChatModel]:
    model = Hosted(refuses=refuses)
    monkeypatch.setattr(chat_models, "_init_provider", lambda provider, wanted, tuning: model)
    return model, open_chat_model(name, Settings(), ListOutboundLog())


def test_openai_is_asked_in_its_own_way(monkeypatch):
    provider, model = hosted(monkeypatch, "openai:gpt-4o-mini")
    assert model.first_token(POLAR, Cancellation()).alternatives == LIKELY
    assert provider.asked == [{"max_tokens": 1, "logprobs": True, "top_logprobs": 20}]


def test_a_provider_that_is_not_known_to_tell_is_asked_plainly(monkeypatch):
    provider, model = hosted(monkeypatch, "anthropic:claude")
    assert (
        model.first_token(POLAR, Cancellation()).text,
        model.first_token(POLAR, Cancellation()).alternatives,
    ) == (
        "Yes",
        {},
    )
    assert provider.asked == [{}, {}]


def test_a_model_that_refuses_log_probabilities_is_asked_plainly(monkeypatch):
    provider, model = hosted(monkeypatch, "openai:o9", refuses=True)
    assert [model.first_token(POLAR, Cancellation()).text for _ in range(2)] == ["Yes", "Yes"]
    assert [bool(options) for options in provider.asked] == [True, False, False]


@pytest.mark.parametrize(
    "told",
    [
        None,
        [],
        {},
        {"content": None},
        {"content": []},
        "yes",
        [None],
        [{"token": 3, "logprob": "x"}],
        [{"token": "a"}],
        [{"token": "a", "logprob": -(10**400), "top_logprobs": 5}],
        [{"token": "a", "logprob": 10**400}],
    ],
)
def test_what_is_not_a_list_of_tokens_tells_nothing(told):
    assert parse_alternatives(told) == []


def test_only_logarithms_of_probabilities_count():
    top = [{"token": "No", "logprob": float("nan")}, {"token": "yes", "logprob": 3.0}, {"token": "NO", "logprob": -9}]
    assert parse_alternatives([SimpleNamespace(token="Yes", logprob=-0.5, top_logprobs=top)]) == [
        {"Yes": -0.5, "NO": -9}
    ]
