"""Last two nodes: writing the answer and checking it against its sources."""

from __future__ import annotations

from langgraph.runtime import Runtime

from crag.amounts import count
from crag.errors import ModelFault
from crag.events import AnswerChecked, AnswerWritten, Noted, PromptBuilt, ThoughtWritten, TokensWritten
from crag.graph.checking.citations import cite, drop_invalid_citations
from crag.graph.checking.support import check_sentences, outcome
from crag.graph.nodes import gather_knowledge, node
from crag.graph.state import Deps, State, to_answer
from crag.prompts import fill, load
from crag.prompts.language import detect_written
from crag.protocols import PromptFit
from crag.types import Knowledge, Usage

FINISH_NOTES = {
    "length": "The model stopped at its length limit.",
    "incomplete": "The model's reply broke off before its end; what had come is kept.",
    "repetition": "The model began to repeat itself and was stopped.",
}
_NOTHING = ("The model wrote nothing.", "Ask again, or choose another model.")
_NOTHING_BECAUSE = {
    "thought": (
        "The model only thought and wrote no answer.",
        "Raise its longest reply in the settings, or turn thinking off.",
    ),
    "length": (
        "The model reached its length limit before it wrote anything.",
        "Raise its longest reply in the settings.",
    ),
    "repetition": ("The model only repeated itself and was stopped.", "Ask again, or choose another model."),
}


@node("generate")
def generate(state: State, runtime: Runtime[Deps]) -> State:
    """Stream the answer from the knowledge; without knowledge, write a refusal.

    Raises `ModelFault`, also when the model writes nothing.
    """
    knowledge = gather_knowledge(state, runtime.context)
    if not knowledge:
        return _refuse(state, runtime)
    text, usage, fit = _write(state, knowledge, runtime)
    text = drop_invalid_citations(text, knowledge).strip()
    if not text:
        # A refusal would be wrong here: the documents were judged to contain the answer.
        raise ModelFault("nothing_written", *_NOTHING_BECAUSE.get(usage.finish_reason or "", _NOTHING))
    runtime.stream_writer(AnswerWritten(text, cite(text, knowledge), outcome(text, knowledge), usage))
    for note in (FINISH_NOTES.get(usage.finish_reason or "", ""), _cut_note(usage, fit)):
        if note:
            runtime.stream_writer(Noted(note))
    return {"answer": text, "knowledge": knowledge}


@node("check_answer")
def check_answer(state: State, runtime: Runtime[Deps]) -> State:
    """Check how well the sources support each sentence of the answer."""
    if knowledge := state.get("knowledge"):
        runtime.stream_writer(AnswerChecked(check_sentences(state["answer"], knowledge)))
    return {}


def _write(state: State, knowledge: tuple[Knowledge, ...], runtime: Runtime[Deps]) -> tuple[str, Usage, PromptFit]:
    deps = runtime.context
    text, usage, fit = "", Usage(), PromptFit(0, 0, 0)
    history, begun = state.get("history", ()), state.get("begun_answer", "")
    for part in deps.engine.writer.write(to_answer(state), knowledge, history, deps.stop, begun=begun):
        if isinstance(part, PromptFit):
            fit = part
            _tell_fit(fit, runtime)
            continue
        if part.thought:
            runtime.stream_writer(ThoughtWritten(part.thought, deps.elapsed()))
        if part.text:
            text += part.text
            runtime.stream_writer(TokensWritten(part.text))
        text = text[: len(text) - part.repeated]
        usage = part.usage or usage
    return text, usage, fit


def _cut_note(usage: Usage, fit: PromptFit) -> str:
    """Return a note when the server's token count suggests that the prompt was truncated, else an empty string."""
    seen = usage.prompt_tokens
    if not usage.prompt_cut or seen is None:
        return ""
    full = f"The prompt filled the model's window ({seen:,} of {fit.window:,} tokens), so it may have been cut"
    read = f"The server read {seen:,} of about {fit.tokens:,} tokens of the prompt"
    return f"{read if seen < fit.tokens else full}: the answer may rest on less than is shown."


def _tell_fit(fit: PromptFit, runtime: Runtime[Deps]) -> None:
    runtime.stream_writer(PromptBuilt(fit.tokens, fit.window, fit.left_out))
    for number, what in ((fit.left_out, "strip"), (fit.messages_left_out, "earlier message")):
        if number:
            verb = "was" if number == 1 else "were"
            note = f"{count(number, what)} did not fit the window of {fit.window:,} tokens and {verb} left out."
            runtime.stream_writer(Noted(note))


def _refuse(state: State, runtime: Runtime[Deps]) -> State:
    passages, web = len(state.get("passages", ())), len(state.get("web_passages", ()))
    text = fill(load(_refusal(state), detect_written(state["question"])), passages=str(passages), web=str(web))
    runtime.stream_writer(TokensWritten(text))
    runtime.stream_writer(AnswerWritten(text, (), "not_answered", Usage()))
    return {"answer": text, "knowledge": ()}


def _refusal(state: State) -> str:
    """Choose the refusal text; passages that the user dropped may have held the answer."""
    if "drop" in state.get("rulings", {}).values():
        return "refusal_dropped"
    if state.get("web_passages"):
        return "refusal_web"
    return {0: "refusal_empty", 1: "refusal_one"}.get(len(state.get("passages", ())), "refusal")
