"""Comparison of two or more variants: differences, their certainty, and questions with another result."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.evaluate.figures.comparison import Comparison
from crag.evaluate.figures.metrics import METRICS
from crag.evaluate.figures.wording import UNJUDGED, change_in_words, change_interval_in_words, meaning, value_in_words
from crag.evaluate.pictures import trade_offs
from crag.evaluate.values import Difference
from pages.evaluate import reading
from pages.evaluate.charts import trade_off, whiskers
from pages.evaluate.comparison import changed, differing, sides
from pages.evaluate.comparison.sides import Side
from pages.parts import words
from pages.parts.device import is_phone

_SIGNS = {"better": ":green[:material/trending_up:]", "worse": ":red[:material/trending_down:]"}
_ENOUGH = 2


def draw(compared: Sequence[Side]) -> None:
    """Draw the comparison of the first variant with the others, and the choice of variants."""
    sides.draw_choice(compared)
    if len(compared) < _ENOUGH:
        st.caption("Choose another evaluation to hold against this one.")
        return
    _tell_datasets(compared)
    names = sides.letters(compared)
    if len(compared) > _ENOUGH:
        _draw_all(compared, names)
    other = _choose(compared[1:], names)
    comparison = sides.comparison(compared[0], other)
    if not comparison.examples:
        st.caption("They have no question in common, so there is nothing to compare.")
        return
    _draw_differences(comparison, ("A", names[other.key]))
    differing.draw(compared, list(names.values()))
    st.fragment(changed.draw)((compared[0], other), ("A", names[other.key]), comparison)


def _tell_datasets(compared: Sequence[Side]) -> None:
    if len({side.evaluation.digest for side in compared}) > 1:
        st.markdown(
            ":orange[:material/info:] They were not asked the same questions. Only those that both have are compared."
        )


def _choose(others: Sequence[Side], names: dict[str, str]) -> Side:
    """Return the variant to compare with the first."""
    if len(others) == 1:
        return others[0]
    by_key = {side.key: side for side in others}
    chosen = st.segmented_control(
        "Looked at",
        list(by_key),
        default=others[0].key,
        required=True,
        format_func=lambda key: f"{names[key]} against A",
        key=f"compared-{'-'.join(by_key)}",
    )
    return by_key[chosen]


def _draw_all(compared: Sequence[Side], names: dict[str, str]) -> None:
    """Draw a table of all metrics of all variants, and accuracy against time."""
    figures = [reading.summary(side.evaluation, side.number).figures for side in compared]
    left, right = st.columns(2, gap="medium")
    with left:
        st.header("All of them", anchor=False)
        st.caption("n is how many questions each figure rests on.")
        shown = [name for name in METRICS if any(name in own and own[name].value for own in figures)]
        head = f"| | {' | '.join(names.values())} |\n|---|{'--:|' * len(figures)}"
        cells = (
            [
                f"{value_in_words(name, own[name].value)} {words.grey(words.unbroken(f'n {own[name].n:,}'))}"
                if name in own
                else "–"
                for own in figures
            ]
            for name in shown
        )
        rows = (f"| {METRICS[name].title} | {' | '.join(row)} |" for name, row in zip(shown, cells, strict=True))
        st.markdown("\n".join([head, *rows]))
    metric = trade_offs.accuracy(figures)
    points = trade_offs.points(dict(enumerate(figures)), metric) if metric else []
    if len(points) >= _ENOUGH:
        with right:
            st.header(f"{METRICS[metric].title} against time", anchor=False)
            st.caption("With 95% intervals. The dashed line joins those that no other beats.")
            trade_off.draw(points, dict(enumerate(names.values())), metric)


def _draw_differences(comparison: Comparison, names: tuple[str, str]) -> None:
    """Draw the differences in words, as charts and as a table."""
    # A metric that is 0 in both variants, such as tokens without a model, says nothing.
    differences = [one for one in comparison.differences if one.before or one.after]
    st.header(f"What differs from {names[0]} to {names[1]}", anchor=False)
    st.markdown(_in_words(differences))
    if comparison.unjudged:
        st.markdown(f":orange[:material/info:] {UNJUDGED}")
    _draw_whiskers([one for one in differences if METRICS[one.metric].unit == "share"])
    _draw_costs([one for one in differences if METRICS[one.metric].unit != "share" and one.before > 0])
    st.markdown(_table(differences, names))
    st.caption(
        f"Over {words.count(comparison.examples, 'question')} that both have. The interval holds 95% of bootstrap"
        " samples of them; where it leaves 0 out, the difference is clear. Of twenty metrics that are the same, one"
        " seems clear by chance."
    )


def _in_words(differences: Sequence[Difference]) -> str:
    """Return clear differences by direction, then the unclear ones, as Markdown."""
    lines = []
    for kind, sign in _SIGNS.items():
        clear = [one for one in differences if meaning(one) == kind]
        if clear:
            told = ", ".join(f"**{METRICS[one.metric].title}** {change_in_words(one)}" for one in clear)
            lines.append(f"{sign} Clearly {kind}: {told}")
    unclear = [METRICS[one.metric].title for one in differences if not one.is_clear]
    if unclear:
        lines.append(f":gray[:material/trending_flat:] No clear difference: {', '.join(unclear)}")
    return "  \n".join(lines)


def _draw_whiskers(differences: Sequence[Difference]) -> None:
    if differences:
        drawn = [_whisker(one, 1.0) for one in differences]
        whiskers.draw(drawn, "difference in percentage points", "")


def _draw_costs(differences: Sequence[Difference]) -> None:
    """Draw time and tokens in a chart of their own, relative to the baseline."""
    if differences:
        whiskers.draw([_whisker(one, one.before) for one in differences], "difference relative to before", "%")


def _whisker(one: Difference, whole: float) -> whiskers.Whisker:
    change = (one.after - one.before) / whole
    told = f"{change_in_words(one)} ({change_interval_in_words(one)}, n = {one.n:,})"
    return whiskers.Whisker(METRICS[one.metric].title, change, one.low / whole, one.high / whole, meaning(one), told)


def _table(differences: Sequence[Difference], names: tuple[str, str]) -> str:
    if is_phone():
        head = f"| | {names[0]} → {names[1]} | difference, 95%, n |\n|---|---|---|"
        return "\n".join([head, *map(_narrow_row, differences)])
    head = f"| | {names[0]} | {names[1]} | difference | 95% | n |\n|---|--:|--:|--:|--:|--:|"
    return "\n".join([head, *map(_row, differences)])


def _row(one: Difference) -> str:
    before, after = value_in_words(one.metric, one.before), value_in_words(one.metric, one.after)
    interval = words.small(words.unbroken(change_interval_in_words(one).removesuffix(" points")))
    return f"| {METRICS[one.metric].title} | {before} | {after} | {_change(one)} | {interval} | {one.n:,} |"


def _narrow_row(one: Difference) -> str:
    """Return a difference as a table row of three cells, for a phone."""
    before, after = value_in_words(one.metric, one.before), value_in_words(one.metric, one.after)
    rest = words.small(f"{change_interval_in_words(one)}, n = {one.n:,}")
    return f"| {METRICS[one.metric].title} | {before} → {after} | {_change(one)} {rest} |"


def _change(one: Difference) -> str:
    """Return the change, in bold and with an icon if it is clear."""
    told = words.unbroken(change_in_words(one))
    return f"**{told}** {_SIGNS[meaning(one)]}" if one.is_clear else told
