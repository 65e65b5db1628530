"""Selected evaluation and compared variants, kept in the page address and in the session."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

from crag.errors import NotFound
from pages.evaluate.results import ComparedVariant, load_results
from pages.parts import dialogs
from pages.parts.address import AddressSelection, open_page, read_selections
from pages.parts.routes import Page
from pages.parts.services import application

DELETE_EVALUATIONS_DIALOG = "delete evaluations"
MAX_COMPARED = len(ascii_uppercase)
_EVALUATION_SELECTION = AddressSelection("evaluation")
_COMPARED_SELECTION = AddressSelection("compare")


def read_address() -> tuple[str, list[ComparedVariant]]:
    """Return the selected evaluation and the compared variants without duplicates and deleted ones."""
    evaluation_id, compared = read_selections(_EVALUATION_SELECTION, _COMPARED_SELECTION)
    keys = dict.fromkeys(compared.split(","))
    return evaluation_id, [side for key in keys if key and (side := _load_variant(key))][:MAX_COMPARED]


def select_variants(keys: Sequence[str]) -> None:
    """Select the variants to compare on the next rerun; an empty sequence ends the comparison."""
    _COMPARED_SELECTION.select(",".join(keys))


def assign_letters(compared: Sequence[ComparedVariant]) -> dict[str, str]:
    """Assign letters (A, B, C, ...) to the variants, by key, for tables and charts."""
    return {side.key: letter for side, letter in zip(compared, ascii_uppercase, strict=False)}


def _load_variant(key: str) -> ComparedVariant | None:
    """Return the variant with this key; None if it does not exist or belongs to another user."""
    evaluation_id, _, number = key.rpartition(".")
    try:
        evaluation = application().evaluations.get(evaluation_id)
    except NotFound:
        return None
    if not number.isdecimal() or int(number) >= len(evaluation.variants):
        return None
    return ComparedVariant(evaluation, int(number), load_results(evaluation, int(number)))


def open_evaluation(found: str) -> None:
    """Select an evaluation for the next rerun and close any open dialog."""
    show_overview()
    _EVALUATION_SELECTION.select(found)


def show_overview() -> None:
    """Clear the selection and return to the overview."""
    dialogs.close_dialog()
    select_variants(())
    _EVALUATION_SELECTION.select("")


def open_run_in_inspect(run_id: str) -> None:
    """Open the run behind an answer in Inspect."""
    open_page(Page.INSPECT, run=run_id)
