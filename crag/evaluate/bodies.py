"""The JSON form in which examples, variants, scores and judgements are stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

from crag.evaluate.datasets.examples import Example
from crag.evaluate.values import Environment, Judgement, Scored, Variant
from crag.options import RunOptions, changes_between, dump_changes, load_changes, with_changes

if TYPE_CHECKING:
    from pydantic import TypeAdapter


def dump_examples(examples: Sequence[Example]) -> bytes:
    """Serialize examples; equal examples give equal bytes."""
    return _examples().dump_json(tuple(examples))


def load_examples(body: bytes) -> tuple[Example, ...]:
    """Parse examples."""
    return _examples().validate_json(body)


def digest(body: bytes) -> str:
    """Return a short digest of serialized data."""
    return hashlib.sha256(body).hexdigest()[:12]


def dump_variants(variants: Sequence[Variant]) -> str:
    """Serialize variants; of the options only those that differ from the defaults."""
    return json.dumps([_variant_row(variant) for variant in variants], ensure_ascii=False)


def load_variants(text: str) -> tuple[Variant, ...]:
    """Parse variants."""
    return tuple(
        Variant(
            row["name"],
            with_changes(RunOptions(), load_changes(json.dumps(row["options"]))),
            _adapter(Environment).validate_python(row["environment"]),
        )
        for row in json.loads(text)
    )


def dump_scored(scored: Scored) -> str:
    """Serialize the scores of an answer."""
    return _adapter(Scored).dump_json(scored).decode()


def load_scored(text: str) -> Scored:
    """Parse the scores of an answer."""
    scored: Scored = _adapter(Scored).validate_json(text)
    return scored


def dump_judgement(judgement: Judgement) -> str:
    """Serialize a judgement."""
    return _adapter(Judgement).dump_json(judgement).decode()


def load_judgement(text: str) -> Judgement:
    """Parse a judgement."""
    judgement: Judgement = _adapter(Judgement).validate_json(text)
    return judgement


def _variant_row(variant: Variant) -> dict[str, Any]:
    options = json.loads(dump_changes(changes_between(RunOptions(), variant.options)))
    return {"name": variant.name, "options": options, "environment": asdict(variant.environment)}


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # imported late: pydantic is slow to import

    return TypeAdapter(kind)


@cache
def _examples() -> TypeAdapter[tuple[Example, ...]]:
    from pydantic import TypeAdapter

    return TypeAdapter(tuple[Example, ...])
