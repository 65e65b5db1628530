"""The live tests themselves against the scripted server, so that they work when a real one is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.doubles.little_model import answer_like_a_little_model
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import Asked, Say
from tests.doubles.timed_ollama import rendered

ROOT = Path(__file__).parents[2]
NAMED = {"CRAG_LIVE_CHAT_MODEL": "llama3.1:8b", "CRAG_LIVE_EMBEDDER": "nomic-embed-text"}
LIVE = ["tests/live", "-m", "live", "-q", "-p", "no:cacheprovider"]


def reply(asked: Asked) -> Say:
    """Counts where it is to count, slowly enough to be stopped, and reads as much of a prompt as a real server does."""
    tokens, window = len(rendered(asked.body)), asked.body["options"]["num_ctx"]
    seen = tokens if tokens <= window else window // 2
    if "Count from 1" in asked.prompt:
        return Say(" ".join(map(str, range(1, 1001))), prompt_tokens=seen, per_token=0.001)
    alternatives = {"Yes": -0.2, "No": -1.9, "Hello": -4.0} if asked.body.get("logprobs") else {}
    text = "Yes" if alternatives else answer_like_a_little_model(asked)
    return Say(text, prompt_tokens=seen, alternatives=alternatives)


def test_they_pass_against_the_scripted_server():
    with ScriptedOllama() as ollama:
        ollama.script = reply
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", *LIVE],
            cwd=ROOT,
            env=os.environ | NAMED | {"OLLAMA_HOST": ollama.url},
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert ended.returncode == 0, ended.stdout[-4000:]
    assert "skipped" not in ended.stdout
    assert int(re.search(r"(\d+) passed", ended.stdout)[1]) > 15
    assert any(chat.outcome == "dropped" for chat in ollama.chats), "a stream was cancelled"
