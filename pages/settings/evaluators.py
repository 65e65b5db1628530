"""Evaluators: which one scores; download and removal of the known ones."""

from __future__ import annotations

import streamlit as st

from crag.models.evaluator_weights import DOWNLOAD_PREFIX, KNOWN_EVALUATORS, EvaluatorReport, KnownEvaluator
from crag.settings import url_host
from crag.text.formatting import format_size
from crag.translation import N_, _, translate_text
from pages.parts import downloads, labels, markdown
from pages.parts.layout import draw_watching
from pages.parts.services import application

EVALUATOR_WORDS = (
    "evaluator cross-encoder reranker download MiniLM BGE multilingual grades orders passages license CRAG_EVALUATOR "
    f"{' '.join(known.languages for known in KNOWN_EVALUATORS.values())}"
)
_MEANING = N_(
    "A small trained model that runs on this machine and scores how well a passage answers a question. "
    "If there is one, it orders the passages found and grades them with *Automatic* and *Evaluator*. "
    "Questions in a language that it does not know are graded as usual. "
    "The *Built-in* grader does not use it."
)


def draw_evaluators() -> None:
    """Draw the section, refreshed every second during a download."""
    is_busy = _is_downloading()
    with st.container(gap="xxsmall"):
        st.header(_("Evaluator"), anchor=False)
        with st.container(border=True):
            st.caption(
                _("{meaning} It is downloaded from {download_host}; nothing else is sent there.").format(
                    meaning=_(_MEANING), download_host=_download_host()
                )
            )
            draw_watching(is_busy, _is_downloading, downloads.REFRESH_SECONDS if is_busy else None, _draw_choices)


def _is_downloading() -> bool:
    return any(
        download.state == "running" and download.name.startswith(DOWNLOAD_PREFIX)
        for download in application().downloads.all()
    )


def _download_host() -> str:
    return markdown.escape_line(url_host(application().settings.evaluator_url), 60)


def _draw_choices() -> None:
    report = application().evaluator.report()
    for known in KNOWN_EVALUATORS.values():
        _draw_known(known, report)
    if application().settings.evaluator != "auto":
        state = f" :green-badge[{_('in use')}]" if report.state == "in use" else ""
        name = markdown.escape_line(application().settings.evaluator, 120)
        st.markdown(f"{name} {labels.grey_text(_('Set by CRAG_EVALUATOR. Change it there.'))}{state}")
        if report.fault and report.name not in KNOWN_EVALUATORS:
            st.caption(f":orange[:material/warning:] {markdown.escape_line(translate_text(str(report.fault)), 400)}")


def _draw_known(known: KnownEvaluator, report: EvaluatorReport) -> None:
    name = f"{DOWNLOAD_PREFIX}{known.name}"
    download = downloads.unfinished_download(name)
    fault = report.fault if report.name == known.name else None
    is_usable = known.is_present and not fault
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        with st.container(gap=None):
            facts = f"{_(known.languages)} · {format_size(known.size)} · {known.license}"
            is_in_use = not download and (report.name, report.state) == (known.name, "in use")
            in_use = f" :green-badge[{_('in use')}]" if is_in_use else ""
            st.markdown(f"**{known.label}** {labels.grey_text(facts)}{in_use}")
            if download:
                downloads.draw_download_progress(download)
            elif fault:
                st.caption(f":orange[:material/warning:] {markdown.escape_line(translate_text(fault.message))}")
        with st.container(horizontal=True, width="content", gap="small"):
            if download or not is_usable:
                label = (
                    _("Download again")
                    if known.is_present
                    else _("Download · {size}").format(size=format_size(known.size))
                )
                downloads.draw_download_button(name, label, "-evaluator")
            else:
                st.button(_("Remove"), type="tertiary", key=f"remove-{name}", on_click=_remove, args=(known.name,))


def _remove(name: str) -> None:
    application().evaluator.remove(name)
    application().downloads.dismiss(f"{DOWNLOAD_PREFIX}{name}")
