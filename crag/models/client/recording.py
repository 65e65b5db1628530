"""Records one model call, the prompts sent and the reply received, and notifies listeners when it ends."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from crag.errors import CragError, Stopped
from crag.model_calls import ModelCall, tell
from crag.protocols import Prompt
from crag.stopping import Stop

if TYPE_CHECKING:
    from langchain_core.messages import AIMessageChunk

STOPPED = "Stopped."
LEFT = "Not read to its end."


def recorded(
    chunks: Generator[AIMessageChunk, None, None], model: str, prompts: Sequence[Prompt], stop: Stop
) -> Generator[AIMessageChunk, None, None]:
    """Yield the same chunks; notify listeners of the call once reading ends, for whatever reason."""
    began, read, fault = time.monotonic(), list["AIMessageChunk"](), ""
    try:
        with closing(chunks):
            for chunk in chunks:
                read.append(chunk)
                yield chunk
    except Stopped:
        fault = STOPPED
        raise
    except GeneratorExit:
        fault = STOPPED if stop.wait(0) else LEFT
        raise
    except CragError as error:
        fault = error.message
        raise
    finally:
        tell(stop, _call(read, model, prompts, began, fault))


def _call(read: Iterable[AIMessageChunk], model: str, prompts: Sequence[Prompt], began: float, fault: str) -> ModelCall:
    counted = [chunk.usage_metadata for chunk in read if chunk.usage_metadata]
    return ModelCall(
        node="",
        model=model,
        at=began,
        seconds=time.monotonic() - began,
        prompts=tuple(prompts),
        reply="".join(str(chunk.text) for chunk in read),
        thought="".join(str(chunk.additional_kwargs.get("reasoning_content") or "") for chunk in read),
        prompt_tokens=next((usage["input_tokens"] for usage in reversed(counted) if usage["input_tokens"]), None),
        answer_tokens=next((usage["output_tokens"] for usage in reversed(counted) if usage["output_tokens"]), None),
        fault=fault,
    )
