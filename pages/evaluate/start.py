"""Start card of an evaluation: questions, judge, repetitions, expected cost and outbound data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import streamlit as st

from crag.errors import CragError
from crag.evaluation import dataset_records
from crag.evaluation.dataset_format import SEED_DATASET
from crag.evaluation.evaluations import MAX_REPETITIONS
from crag.evaluation.types import Dataset, Evaluation, EvaluationKind, EvaluationPlan
from crag.options import RunOptions
from crag.text import sanitization
from crag.text.formatting import format_count, format_duration
from crag.translation import N_, _, translate_text
from pages.evaluate import results, selection, start_options
from pages.parts import dialogs, document_intake, external_hosts, ingest_jobs, labels, markdown
from pages.parts.address import open_page
from pages.parts.routes import Page
from pages.parts.services import answering_model, application, available_models

JUDGE_DIALOG = "have an evaluation judged"
JUDGE_DATA_NOTICE = N_("For judging, questions, expected answers and answers go")
JUDGE_HELP = N_(
    "A model that compares each answer with the expected one, scores it and says why. "
    "Without one, the texts are compared."
)


def available_judges() -> dict[str, str]:
    """Return labels of the models that can judge now, by model name."""
    return {
        model.name: _("{label} (on another machine)").format(label=translate_text(model.label))
        if model.cloud
        else translate_text(model.label)
        for model in available_models()
        if not model.builtin
    }


@dialogs.dialog(N_("Judge answers"), icon=":material/gavel:")
def draw_judge_dialog(evaluation_id: str) -> None:
    """Draw the dialog that has existing answers judged."""
    found = available_judges()
    if not found:
        st.caption(_("Judging needs a language model. Start Ollama, or choose one in Settings, Models."))
        return
    model = st.selectbox(_("Judge"), list(found), format_func=lambda name: found.get(name, name), help=_(JUDGE_HELP))
    if host := external_hosts.model_host(model):
        st.markdown(
            _(":orange[{external_icon}] {judge_data_notice} to **{host}**.").format(
                external_icon=external_hosts.EXTERNAL_ICON,
                judge_data_notice=_(JUDGE_DATA_NOTICE),
                host=markdown.escape_line(host, 60),
            )
        )
    if st.button(_("Allow and judge") if host else _("Judge"), icon=":material/gavel:", key="judge-evaluation"):
        if host:
            application().preferences.allow_model(model)
        with dialogs.catch_refusals():
            application().evaluations.get(evaluation_id)
            application().evaluations.judge(evaluation_id, model)
        dialogs.close_and_rerun()


_MAX_PAST_EVALUATIONS = 30


@dataclass(frozen=True, slots=True)
class OutboundNotice:
    """Data sent to another machine: a description, the host, and the model that must first be allowed, if any."""

    what: str
    host: str
    forbidden: str = ""


def draw_plan_summary(plan: EvaluationPlan) -> list[str]:
    """Draw cost and outbound data; return the models that must be allowed before the evaluation can start."""
    departures = list(dict.fromkeys(_outbound_notices(plan)))
    st.markdown(f"{_describe_size(plan)} {labels.grey_text(_estimate_duration(plan))}")
    if not departures:
        st.caption(_(":material/lock: Nothing leaves this machine."))
    for one in departures:
        st.markdown(
            _(":orange[{external_icon}] {what} to **{host}**.").format(
                external_icon=external_hosts.EXTERNAL_ICON, what=one.what, host=markdown.escape_line(one.host, 60)
            )
        )
    return [one.forbidden for one in departures if one.forbidden]


def _describe_size(plan: EvaluationPlan) -> str:
    """Return the number of answers, such as 5 questions × 3 repetitions: 15 answers."""
    questions, variants = len(plan.dataset.examples), len(plan.variants)
    parts = [format_count(questions, "question")]
    parts += [format_count(variants, "setting")] if variants > 1 else []
    parts += [format_count(plan.repetitions, "repetition")] if plan.repetitions > 1 else []
    return f"{' × '.join(parts)}: **{format_count(plan.total, 'answer')}**" if len(parts) > 1 else f"**{parts[0]}**"


def _estimate_duration(plan: EvaluationPlan) -> str:
    """Estimate the duration from the seconds per answer of the last evaluation with the same model; empty if none."""
    model = answering_model(plan.variants[0].options)
    for past in application().evaluations.list(_MAX_PAST_EVALUATIONS):
        if past.state == "done" and past.done and answering_model(past.variants[0].options) == model:
            return _("about {seconds}, based on the last evaluation").format(
                seconds=format_duration(past.seconds / past.done * plan.total)
            )
    return ""


def _outbound_notices(plan: EvaluationPlan) -> Iterable[OutboundNotice]:
    options = [variant.options for variant in plan.variants]
    provider, search = application().web.provider(), application().web.open_search()
    if provider and search and any(one.web == "auto" for one in options):
        where = f"{provider.label} ({search.host})"
        yield OutboundNotice(_("Questions that the documents do not answer are rewritten and go"), where)
    if host := application().environments.embedding_host():
        yield OutboundNotice(_("To find passages, questions go"), host)
    if application().traces.on:
        yield OutboundNotice(_("The trace of each answer goes"), application().uploads.host)
    yield from _model_notices(options)
    if host := external_hosts.model_host(plan.judge):
        yield _make_model_notice(_(JUDGE_DATA_NOTICE), plan.judge, host)


def _model_notices(options: Sequence[RunOptions]) -> Iterable[OutboundNotice]:
    """Yield a notice for each remote model that answers, grades or rewrites."""
    for one in options:
        try:
            assigned = application().engines.assign_roles(answering_model(one), one)
        except CragError:  # no answer is possible with these options; each question will report it
            continue
        for role in (assigned.answering, assigned.grading, assigned.rewriting):
            if host := external_hosts.model_host(role.model):
                yield _make_model_notice(_("Questions and the passages found go"), role.model, host)


def _make_model_notice(what: str, model: str, host: str) -> OutboundNotice:
    allowed = application().engines.may_send(model, host)
    return OutboundNotice(what, host, "" if allowed else model)


_DATASET_KEY, _PORTION_KEY, _COUNT_KEY = "evaluate-dataset", "evaluate-which", "evaluate-count"
_REPETITIONS_KEY, _JUDGE_KEY = "evaluate-repetitions", "evaluate-judge"
_ALL, _FIRST, _RANDOM = N_("All"), N_("The first"), N_("Random")
_NO_JUDGE = N_("None (compare texts)")


def select_dataset(dataset_id: str) -> None:
    """Return to the overview with this dataset selected."""
    selection.show_overview()
    st.session_state[_DATASET_KEY] = dataset_id


def prefill_from_evaluation(evaluation: Evaluation) -> None:
    """Fill in the start card as it was for an earlier evaluation."""
    select_dataset(evaluation.dataset_id)
    st.session_state[_REPETITIONS_KEY] = evaluation.repetitions
    if evaluation.judge in available_judges():
        st.session_state[_JUDGE_KEY] = evaluation.judge
    start_options.set_options(evaluation.variants[0].options)


def draw_start_card() -> None:
    """Draw the card with all choices and the Run button."""
    with st.container(border=True):
        st.header(_("New evaluation"), anchor=False)
        dataset = _choose_questions(_choose_dataset())
        _draw_missing_documents_hint(dataset)
        start_options.draw_options()
        repetitions, judge = _choose_repetitions_and_judge()
        variants = start_options.draw_variants(start_options.current_options())
        kind: EvaluationKind = "grid" if len(variants) > 1 else "plain"
        plan = EvaluationPlan(dataset, variants, repetitions, judge, kind=kind, owner_id=dataset.owner_id)
        forbidden = draw_plan_summary(plan)
        st.button(
            _("Allow and run") if forbidden else _("Run"),
            icon=external_hosts.EXTERNAL_ICON if forbidden else ":material/play_arrow:",
            key="evaluate-run",
            disabled=not dataset.examples,
            on_click=_start_evaluation,
            args=(plan, forbidden),
        )


def _choose_dataset() -> Dataset:
    there = {dataset.id: dataset for dataset in results.load_datasets() if dataset.examples}
    if st.session_state.get(_DATASET_KEY) not in there:
        own = (dataset.id for dataset in there.values() if dataset.kind != "builtin")
        st.session_state[_DATASET_KEY] = next(own, SEED_DATASET.id)
    found = st.selectbox(
        _("Questions"),
        list(there),
        format_func=lambda one: (
            f"{sanitization.strip_invisible(translate_text(there[one].name))} ({len(there[one].examples):,})"
        ),
        key=_DATASET_KEY,
        persist_state="session",
    )
    return there[found]


def _choose_questions(dataset: Dataset) -> Dataset:
    """Return the dataset or a sample; the sample is the same each time, so that evaluations can be compared."""
    size = len(dataset.examples)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        which = st.segmented_control(
            _("How many"),
            [_ALL, _FIRST, _RANDOM],
            default=_ALL,
            format_func=_,
            required=True,
            key=_PORTION_KEY,
            persist_state="session",
        )
        if which == _ALL:
            return dataset
        number = int(
            st.number_input(
                _("Number"),
                1,
                size,
                min(20, size),
                key=f"{_COUNT_KEY}-{dataset.id}",
                width=120,
                persist_state="session",
            )
        )
    return (
        dataset_records.take_first_questions(dataset, number)
        if which == _FIRST
        else dataset_records.sample_questions(dataset, number)
    )


def _choose_repetitions_and_judge() -> tuple[int, str]:
    """Return the number of repetitions and the name of the judge model; empty for no judge."""
    judges = {"": _(_NO_JUDGE), **available_judges()}
    left, right = st.columns(2)
    with left:
        judge: str = st.selectbox(
            _("Judge"),
            list(judges),
            format_func=lambda name: judges.get(name, name),
            key=_JUDGE_KEY,
            persist_state="session",
            help=_(JUDGE_HELP),
        )
    with right:
        st.session_state.setdefault(_REPETITIONS_KEY, 1)
        repetitions = st.number_input(
            _("Repetitions"),
            1,
            MAX_REPETITIONS,
            key=_REPETITIONS_KEY,
            help=_("Use several if the model's answers vary."),
            persist_state="session",
        )
    return int(repetitions), judge


def _draw_missing_documents_hint(dataset: Dataset) -> None:
    """Say that the library is empty, or lacks the posts that the built-in dataset asks about, and offer to add them."""
    if dataset.id == SEED_DATASET.id:
        _draw_missing_posts_hint()
    elif not application().library.counts()[0]:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(_(":orange[:material/info:] Your library is empty, so nothing will be found."), width="content")
            if st.button(Page.DOCUMENTS.title, icon=Page.DOCUMENTS.icon):
                open_page(Page.DOCUMENTS)


def _draw_missing_posts_hint() -> None:
    urls = application().example_urls
    missing = len(urls) - len(application().library.sources_at(urls))
    if not missing:
        return
    lacks = (
        _(", which are")
        if missing == len(urls)
        else _("; {missing} of them {value}").format(missing=missing, value=_("is") if missing == 1 else _("are"))
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            _(
                ":orange[:material/info:] These questions are about three posts on lilianweng\\.github\\.io{lacks} "
                "not in your library. Add them, or choose other questions above."
            ).format(lacks=lacks),
        )
        st.button(_("Add the three posts"), icon=":material/auto_stories:", on_click=document_intake.add_example_posts)
    document_intake.draw_example_posts_notice()
    ingest_jobs.draw_jobs(unseen_only=True)


def _start_evaluation(plan: EvaluationPlan, forbidden: list[str]) -> None:
    """Start the evaluation and select it; a refusal is shown on the next rerun."""
    for model in forbidden:
        application().preferences.allow_model(model)
    selection.open_evaluation(application().evaluations.begin(plan).id)
