"""Chat models over real HTTP: streaming, silent stops, finish reasons, one set of options."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from crag.cancellation import Cancellation
from crag.errors import ModelFault, Stopped
from crag.models.chat_models import open_chat_model
from crag.models.token_counts import count_tokens
from crag.protocols import ReplyPiece
from crag.types import Prompt
from tests.doubles.ollama import ScriptedOllama, closed_address
from tests.doubles.ollama_values import Asked, Model, Say
from tests.waiting import PATIENCE

ASK = [Prompt("system", "Be short."), Prompt("user", "What is the capital of France?")]
SCHEMA = {"type": "object", "properties": {"verdict": {"enum": ["yes", "no"]}}, "required": ["verdict"]}


def say(ollama: ScriptedOllama, reply: Say) -> None:
    ollama.script = lambda asked: reply


def test_pieces_arrive_while_they_are_made(ollama, settings):
    say(ollama, Say("Paris is the capital of France.", per_token=0.1))
    sent = [
        (piece.text, ollama.chats[0].tokens_sent)
        for piece in open_chat_model("ollama:llama3.1:8b", settings).stream(ASK, Cancellation())
    ]
    assert "".join(text for text, _ in sent) == "Paris is the capital of France."
    assert sent[0][1] < 6  # the first piece was here before the last was sent
    assert len(sent) > 5


def test_half_a_surrogate_in_a_reply_is_replaced(ollama, settings):
    ollama.script = lambda asked: Say("a\ud800b")
    assert open_chat_model("ollama:llama3.1:8b", settings).complete(ASK, Cancellation()).text == "a?b"


def test_the_last_piece_carries_the_usage(ollama, settings):
    say(ollama, Say("Paris.", prompt_tokens=21))
    *_, last = open_chat_model("ollama:llama3.1:8b", settings).stream(ASK, Cancellation())
    assert last.usage is not None
    assert (last.usage.prompt_tokens, last.usage.answer_tokens, last.usage.finish_reason) == (21, 1, "stop")


@pytest.mark.parametrize("silence", ["before the first token", "in the middle"])
def test_stop_is_heard_while_the_server_is_silent(ollama, settings, silence):
    early = silence == "before the first token"
    say(ollama, Say("Paris is", first_token_after=3600 if early else 0, end="hang"))
    stop, got = Cancellation(), list[ReplyPiece]()
    stream = open_chat_model("ollama:llama3.1:8b", settings).stream(ASK, stop)

    def ask() -> None:
        with pytest.raises(Stopped):
            got.extend(stream)

    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(ask)
        ollama.wait_until(lambda: ollama.chats and (early or ollama.chats[0].tokens_sent == 2))
        stop.cancel()
        ended.result(timeout=PATIENCE)
    ollama.wait_until(lambda: ollama.chats[0].outcome == "dropped")


def test_a_stop_before_the_start_sends_nothing(ollama, settings):
    model, stop = open_chat_model("ollama:llama3.1:8b", settings), Cancellation()
    stop.cancel()
    with pytest.raises(Stopped):
        model.complete(ASK, stop)
    assert not ollama.chats


def test_leaving_a_stream_ends_the_generation(ollama, settings):
    say(ollama, Say("word " * 500, per_token=0.02))
    stream = open_chat_model("ollama:llama3.1:8b", settings).stream(ASK, Cancellation())
    next(stream)
    stream.close()
    ollama.wait_until(lambda: ollama.chats[0].outcome == "dropped")
    assert ollama.chats[0].tokens_sent < 100


def test_every_role_sends_the_same_window(ollama, settings):
    open_chat_model("ollama:llama3.1:8b", settings).complete(ASK, Cancellation(), schema=SCHEMA)
    list(open_chat_model("ollama:llama3.1:8b", settings).stream(ASK, Cancellation()))
    open_chat_model("ollama:llama3.1:8b", settings).complete(ASK, Cancellation())
    first, second, third = (asked.body for asked in ollama.chats)
    assert second["options"] == {"num_ctx": 8192, "num_predict": 1024, "temperature": 0}
    assert first["options"] == third["options"] == second["options"] | {"num_predict": 300}
    assert first["think"] is second["think"] is False
    assert isinstance(first["keep_alive"], int | float)
    assert first["format"] == SCHEMA
    assert second.get("format") is None


def test_a_small_model_gets_its_own_window(ollama, settings):
    ollama.models = [Model("tiny:1b", context_length=2048)]
    model = open_chat_model("ollama:tiny:1b", settings)
    assert model.complete(ASK, Cancellation()).text
    assert model.window == ollama.chats[0].body["options"]["num_ctx"] == 2048


def test_the_fingerprint_follows_the_digest(ollama, settings):
    before = open_chat_model("ollama:llama3.1:8b", settings).fingerprint
    ollama.models = [replace(ollama.models[0], digest="c" * 64)]
    assert open_chat_model("ollama:llama3.1:8b", settings).fingerprint != before


def test_the_servers_slots_are_used(ollama, settings, monkeypatch):
    def reply(_: Asked) -> Say:
        ollama.wait_until(lambda: ollama.most_at_once == 4)
        return Say("yes")

    ollama.script = reply
    model = open_chat_model("ollama:llama3.1:8b", settings)
    with ThreadPoolExecutor(model.concurrency) as pool:
        replies = list(pool.map(lambda _: model.complete(ASK, Cancellation()).text, range(4)))
    assert replies == ["yes"] * 4
    assert ollama.most_at_once == model.concurrency == 4
    monkeypatch.setenv("OLLAMA_NUM_PARALLEL", "2")
    assert open_chat_model("ollama:llama3.1:8b", settings).concurrency == 2


SENTENCES = {
    "english": "The harbour was opened by an engineer in the spring of that year. ",
    "korean": "한빛타워는 대전 엑스포를 위해 지어졌고 전망대에는 하루에 많은 사람이 방문한다. ",
    "chinese": "登山者必須事先申請入山證，冬季山頂常有積雪。",
}


@pytest.mark.parametrize(
    ("language", "share", "cut"),
    [
        ("english", 0.9, False),
        ("english", 0.45, True),
        ("korean", 1 / 1.4, False),
        ("korean", 0.5, False),
        ("korean", 0.5 / 1.4, True),
        ("chinese", 1 / 1.1, False),
        ("chinese", 0.3, True),
    ],
)
def test_well_under_our_count_means_that_the_prompt_was_cut(ollama, settings, language, share, cut):
    """Our count is 1.4 times that of cl100k in Korean and more than that of larger vocabularies: no alarm for that."""
    prompt = SENTENCES[language] * 20
    say(ollama, Say("Paris.", prompt_tokens=round(share * count_tokens(prompt))))
    told = (
        open_chat_model("ollama:llama3.1:8b", settings)
        .complete([Prompt("user", prompt)], Cancellation())
        .usage.prompt_cut
    )
    assert told == cut


def test_a_prompt_that_just_fits_the_window_was_not_cut(ollama, settings):
    """A server that cuts keeps either exactly a window or about half of one."""
    ollama.models = [Model("tiny:1b", context_length=2048)]
    say(ollama, Say("Paris is", prompt_tokens=1997, end="length"))
    assert not open_chat_model("ollama:tiny:1b", settings).complete(ASK, Cancellation()).usage.prompt_cut


def test_a_full_window_means_it_too_and_hides_nothing_else(ollama, settings):
    say(ollama, Say("Paris is", prompt_tokens=8192, end="length"))
    usage = open_chat_model("ollama:llama3.1:8b", settings).complete(ASK, Cancellation()).usage
    assert (usage.prompt_cut, usage.finish_reason) == (True, "length")
    say(ollama, Say("Paris.", prompt_tokens=21))
    assert not open_chat_model("ollama:llama3.1:8b", settings).complete(ASK, Cancellation()).usage.prompt_cut


def test_what_no_tokenizer_could_fit_into_the_window_is_not_sent(ollama, settings):
    with pytest.raises(ModelFault) as fault:
        open_chat_model("ollama:llama3.1:8b", settings).complete([Prompt("user", "why so " * 12_300)], Cancellation())
    assert (fault.value.code, ollama.chats) == ("question_too_long", [])


@pytest.mark.parametrize(
    ("status", "error", "code", "times"),
    [
        (500, "model requires more system memory (9.1 GiB) than is available (4.2 GiB)", "out_of_memory", 1),
        (500, "llama runner process has terminated", "server_error", 3),
        (503, "server busy, please try again.  maximum pending requests exceeded", "busy", 6),
        (404, "model 'llama3.1:8b' not found", "model_missing", 1),
        (400, "does not support thinking", "refused", 1),
    ],
)
def test_only_passing_error_statuses_are_retried(ollama, settings, status, error, code, times):
    model = open_chat_model("ollama:llama3.1:8b", settings)
    ollama.fail_next(6, status, error)
    with pytest.raises(ModelFault) as fault:
        model.complete(ASK, Cancellation())
    assert fault.value.code == code
    assert fault.value.remedy
    assert len(ollama.chats) == times


def test_stop_is_heard_between_attempts(ollama, settings):
    model, stop = open_chat_model("ollama:llama3.1:8b", settings), Cancellation()
    ollama.fail_next(3, 503)
    ollama.script = lambda asked: pytest.fail("asked again after the stop")
    threading.Thread(target=lambda: (ollama.wait_until(lambda: ollama.chats), stop.cancel())).start()
    with pytest.raises(Stopped):
        model.complete(ASK, stop)


def test_the_password_of_an_address_is_never_shown(settings):
    secret = closed_address().replace("http://", "http://me:secret@")
    with pytest.raises(ModelFault) as fault:
        open_chat_model("ollama:llama3.1:8b", replace(settings, ollama_host=secret))
    assert "secret" not in str(fault.value)


@pytest.mark.parametrize("name", ["llama3", "ollama:", "nobody:knows", ""])
def test_names_that_mean_nothing(settings, name):
    with pytest.raises(ModelFault) as fault:
        open_chat_model(name, settings)
    assert fault.value.code == "unknown_model"


def test_a_provider_without_its_package(settings):
    pytest.importorskip("langchain")
    with pytest.raises(ModelFault) as fault:
        open_chat_model("mistralai:mistral-small", settings)
    assert fault.value.code == "package_missing"
    assert "pip install langchain-mistralai" in fault.value.remedy
