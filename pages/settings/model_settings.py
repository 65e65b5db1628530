"""Model options: choice per role, tuning, hosted providers, consent, state of Ollama."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import streamlit as st

from crag.models.model_choice import BUILTIN_LABEL, model_label
from crag.models.ollama_api import find_by_name, is_cloud_name
from crag.models.providers import PROVIDERS, Provider, list_providers
from crag.options import OPTIONS, ROLES, Option, get_option
from crag.storage.preferences import EffectiveValue
from crag.text.formatting import format_number, format_size
from crag.translation import N_, _, translate_text
from pages.parts import dialogs, downloads, external_hosts, labels, markdown, option_controls
from pages.parts.labels import grey_text
from pages.parts.layout import draw_watching
from pages.parts.services import ServerStatus, application, is_status_known, model_choice, server_monitor
from pages.settings import setting_row

if TYPE_CHECKING:
    from crag.models.model_choice import ModelChoice
    from crag.models.ollama_server import ModelReport


_STATUS_KEY, _BUSY_KEY = "ollama_seen", "ollama_busy"
_FAST_POLL_SECONDS, _SLOW_POLL_SECONDS = 0.5, 5.0


def is_server_busy() -> bool:
    """Return whether a model is being downloaded, loaded, unloaded or deleted."""
    return server_monitor().is_working or downloads.is_any_running()


def refresh_server_status() -> ServerStatus:
    """Read the server's state, once per draw of the page or a fragment; discard the cache when work has ended."""
    was_busy, st.session_state[_BUSY_KEY] = st.session_state.get(_BUSY_KEY, False), is_server_busy()
    if was_busy and not st.session_state[_BUSY_KEY]:
        server_monitor().recheck()
    st.session_state[_STATUS_KEY] = server_monitor().seen()
    return server_status()


def server_status() -> ServerStatus:
    """Return the state of the server as last read."""
    return st.session_state.get(_STATUS_KEY) or ServerStatus()


def model_report(name: str) -> ModelReport | None:
    """Return Ollama's report on the model of this name, if it is installed."""
    provider, _unused, wanted = name.partition(":")
    return find_by_name(wanted, server_status().models) if provider == "ollama" else None


def page_snapshot() -> tuple[ServerStatus, ModelChoice]:
    """Return everything the page depends on, read now."""
    return refresh_server_status(), model_choice()


def rerun_on_change(drawn: tuple[ServerStatus, ModelChoice]) -> None:
    """Rerun the page as soon as the state differs from `drawn`."""
    known = drawn[0].known and is_status_known()
    draw_watching(drawn, page_snapshot, _SLOW_POLL_SECONDS if known else _FAST_POLL_SECONDS)


_LOCAL_NAMES = ("", "auto", "builtin")


def _needs_consent(name: str) -> bool:
    """Return whether the user must allow this model first.

    A remote host of Ollama needs no consent, since the user named it in OLLAMA_HOST.
    """
    found = model_report(name)
    if found:
        return found.cloud
    provider, _unused, model = name.partition(":")
    return is_cloud_name(model) if provider == "ollama" else name not in _LOCAL_NAMES


def _find_provider(name: str) -> Provider | None:
    """Return the provider of this model if its package and key are known by name."""
    wanted = name.partition(":")[0]
    return next((known for known in list_providers(application().settings) if known.name == wanted), None)


def _is_hosted_model(name: str) -> bool:
    """Return whether this names a model of a provider that is known or whose package is installed."""
    wanted, colon, _unused = name.partition(":")
    if not colon or model_report(f"ollama:{name}"):
        return False
    return _find_provider(name) is not None or (wanted.isidentifier() and find_spec(f"langchain_{wanted}") is not None)


def _ready_providers() -> list[str]:
    """Return the providers with package and key present, as name prefixes such as `openai:`."""
    return [
        f"{known.name}:" for known in list_providers(application().settings) if known.installed and known.key_present
    ]


def _missing_requirement(name: str) -> str:
    """Return what the provider of this model still requires, in words; empty if nothing is known to be missing."""
    known = _find_provider(name)
    if known is None or (known.installed and known.key_present):
        return ""
    return (
        _("needs the package {package}").format(package=known.package)
        if not known.installed
        else _("needs {variable}").format(variable=known.key_variable)
    )


AUTOMATIC, SAME_AS_ANSWERING, BUILTIN, OLLAMA_PREFIX = "auto", "", "builtin", "ollama:"


def _model_choices(setting: Option, current: str) -> dict[str, str]:
    """Return model names with plain-text labels: installed, ready or allowed models, and the current one."""
    first = [AUTOMATIC, BUILTIN] if setting.name == "model" else [SAME_AS_ANSWERING]
    there = [f"{OLLAMA_PREFIX}{model.name}" for model in server_status().models if not model.embeds]
    names = [*first, *there, *_ready_providers(), *application().preferences.allowed_models(), current]
    return {name: _choice_label(name) for name in names}


def _choice_label(name: str) -> str:
    if name == AUTOMATIC:
        return (
            _("Automatic, now {label}").format(label=_(model_choice().label)) if is_status_known() else _("Automatic")
        )
    if name in (SAME_AS_ANSWERING, BUILTIN):
        return _(BUILTIN_LABEL) if name else _(OPTIONS["grader_model"].empty_means).capitalize()
    if (found := model_report(name)) is None:
        return _hosted_label(name) if external_hosts.model_host(name) else name.removeprefix(OLLAMA_PREFIX)
    if found.host:
        return _("{name} — leaves this machine").format(name=found.name)
    loaded = (
        _("loaded on {processor}").format(processor=found.processor)
        if found.processor
        else _("loaded")
        if found.loaded
        else ""
    )
    facts = ", ".join(filter(None, ("Ollama", format_size(found.size), loaded)))
    return f"{found.name} — {facts}"


def _hosted_label(name: str) -> str:
    known = _find_provider(name)
    model = _("A model of {label}").format(label=known.label) if known and name == f"{known.name}:" else name
    return _("{model} — leaves this machine").format(model=model)


ALLOW_DIALOG = "allow_model"


@dialogs.dialog(N_("Use a model on another machine?"), icon=external_hosts.EXTERNAL_ICON)
def draw_consent_dialog(asked: tuple[str, str]) -> None:
    """Draw the dialog; `asked` is the option's name and the model."""
    setting_name, model = asked
    is_provider = model.endswith(":")
    if is_provider:
        typed = st.text_input(_("Model, as the provider calls it"), placeholder="gpt-4o-mini", max_chars=100)
        model += (typed or "").strip()
    host = markdown.escape_line(external_hosts.model_host(model), 60)
    name = _("It") if is_provider else f"**{markdown.escape_line(translate_text(model_label(model)), 60)}**"
    st.markdown(
        _("{name} runs on another machine, at **{host}**. {receives} would go there.").format(
            name=name, host=host, receives=_(OPTIONS[setting_name].receives)
        )
    )
    st.caption(_("Everything sent is listed in Privacy, where you can also revoke this."))
    with st.container(horizontal=True):
        if st.button(_("Allow and use"), icon=external_hosts.EXTERNAL_ICON, disabled=model.endswith(":")):
            application().preferences.allow_model(model)
            setting_row.save_option(setting_name, model)
            dialogs.close_and_rerun()
        if st.button(_("Cancel")):
            dialogs.close_and_rerun()


def model_row(name: str) -> setting_row.SettingsRow:
    """Return the row of a model option."""
    return setting_row.option_row(name, _draw_model_control, _explain_model)


def model_in_role(role: str) -> str:
    """Return the model that plays `answering`, `grading` or `rewriting` in this home now."""
    options = application().preferences.options()
    name = get_option(options, ROLES[role]) or options.model
    return model_choice().name if name == AUTOMATIC else name


def _draw_model_control(option: Option, effective: EffectiveValue) -> None:
    key = setting_row.control_key(option)
    st.session_state[key] = effective.value
    common = {"key": key, "disabled": effective.origin == "environment", "label_visibility": "collapsed"}
    common |= {"on_change": _choose_model, "args": (option, key)}
    option_controls.draw_model_box(option.label, _model_choices(option, effective.value), common)
    _draw_model_notes(option, effective.value)


def _draw_model_notes(option: Option, name: str) -> None:
    """Draw what to know about the chosen model: it runs elsewhere, or is not downloaded."""
    if external_hosts.model_host(name):
        lacking = grey_text(markdown.escape_line(_missing_requirement(name)))
        st.markdown(
            _(":orange-badge[{external_icon} leaves this machine] {lacking}").format(
                external_icon=external_hosts.EXTERNAL_ICON, lacking=lacking
            )
        )
    elif (
        name.startswith(OLLAMA_PREFIX)
        and server_status().known
        and not server_status().fault
        and model_report(name) is None
    ):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(_(":orange-badge[:material/download: not on Ollama yet]"), width="content")
            downloads.draw_download_button(name, _("Get it"), f"-{option.name}")


def _explain_model(option: Option, effective: EffectiveValue) -> str:
    if effective.value == SAME_AS_ANSWERING:
        return _(option.help)
    if host := external_hosts.model_host(model_choice().name if effective.value == AUTOMATIC else effective.value):
        return _("{help} {receives} go to {host}.").format(help=_(option.help), receives=_(option.receives), host=host)
    return _("{help} Local: nothing leaves this machine.").format(help=_(option.help))


def _choose_model(option: Option, key: str) -> None:
    name = _full_model_name(option_controls.read_model_box(key))
    preferences = application().preferences
    is_new = name != preferences.effective(option.name).value
    if is_new and _needs_consent(name) and not preferences.may_send_to(name):
        dialogs.open_dialog(ALLOW_DIALOG, (option.name, name))
    else:
        setting_row.save_option(option.name, name)


def _full_model_name(name: str) -> str:
    """Return the full name of a model: names without a provider are Ollama models."""
    is_whole = (
        name in (AUTOMATIC, SAME_AS_ANSWERING, BUILTIN) or name.startswith(OLLAMA_PREFIX) or _is_hosted_model(name)
    )
    return name if is_whole else f"{OLLAMA_PREFIX}{name}"


_ROLE_KEY = "tuned_role"
_UNTUNED_NOTE = N_(", which has no parameters: these apply to language models.")


def tuning_rows() -> tuple[setting_row.SettingsRow, ...]:
    """Return the rows of every role, each with the role in its title."""
    return tuple(_tuning_row(name) for role in ROLES for name in option_controls.tuning_options(role))


def draw_role_choice() -> tuple[setting_row.SettingsRow, ...]:
    """Draw the role selector and return the rows of the chosen role."""
    role = st.segmented_control(
        _("Role"),
        list(ROLES),
        default=None if _ROLE_KEY in st.session_state else "answering",
        required=True,
        format_func=lambda role: _(role.title()),
        label_visibility="collapsed",
        key=_ROLE_KEY,
        persist_state="session",
    )
    role = role or "answering"
    model = model_in_role(role)
    st.caption(
        _("{model_markdown} has this role now{untuned_note}").format(
            model_markdown=markdown.escape_line(translate_text(model_label(model)), 60),
            untuned_note=_(_UNTUNED_NOTE) if model == BUILTIN else ".",
        )
    )
    return tuple(_tuning_row(name, short=True) for name in option_controls.tuning_options(role))


def _tuning_row(name: str, *, short: bool = False) -> setting_row.SettingsRow:
    title = option_controls.short_title(OPTIONS[name]) if short else ""
    if name.endswith(".window"):
        return setting_row.option_row(name, _draw_window_control, _explain_window, title)
    return setting_row.option_row(name, title=title)


def _draw_window_control(option: Option, effective: EffectiveValue) -> None:
    setting_row.draw_option_control(option, effective, _largest_window(option))


def _explain_window(option: Option, effective: EffectiveValue) -> str:
    if (most := _largest_window(option)) is None:
        return _(option.help)
    if effective.value > most:
        return _("This model reads {most} tokens at most.").format(most=format_number(most))
    window = _("{value} of the model's {most} tokens").format(
        value=format_number(effective.value), most=format_number(most)
    )
    return _(
        "{window}. Larger windows need more memory; roles that share a model share the largest of their windows."
    ).format(window=window)


def _largest_window(option: Option) -> int | None:
    """Return the context window of the model in this role, in tokens; None if unknown."""
    found = model_report(model_in_role(option.name.partition(".")[0]))
    return found.context_length if found else None


PROVIDER_WORDS = " ".join(
    ["other hosted providers cloud API key package install pip", *(provider.label for provider in PROVIDERS)]
)


def draw_providers() -> None:
    """Draw the folded list of providers."""
    known = list_providers(application().settings)
    ready = [provider.label for provider in known if _is_ready(provider)]
    facts = f"ready: {', '.join(ready)}" if ready else _("none is ready")
    shown = st.expander(
        _("Other providers {facts}").format(facts=labels.grey_text(markdown.escape_line(facts))),
        key="providers",
        on_change="rerun",
    )
    if shown.open:
        with shown:
            st.caption(
                _("Their models run on other machines. You are asked once before each is used. Keys stay in .env.")
            )
            for provider in sorted(known, key=lambda provider: (not _is_ready(provider), not provider.installed)):
                _draw_provider(provider)


def _is_ready(provider: Provider) -> bool:
    return provider.installed and provider.key_present


def _draw_provider(provider: Provider) -> None:
    sign = ":green[:material/check_circle:]" if _is_ready(provider) else ":gray[:material/radio_button_unchecked:]"
    name = f"{sign} {markdown.escape_line(provider.label)}"
    if _is_ready(provider):
        with setting_row.lay_out_row(name, _("Package and key found.")):
            st.caption(_("Choose `{name}:MODEL` above.").format(name=provider.name))
    elif provider.installed:
        with setting_row.lay_out_row(
            name, _("The package is installed, the key is missing. Add this line to .env, then restart:")
        ):
            st.code(f"{provider.key_variable}=", language=None)
    else:
        key = (
            _("The key is set, the package is not installed.")
            if provider.key_present
            else _("The package is not installed.")
        )
        with setting_row.lay_out_row(name, _("{key} To add it:").format(key=key)):
            st.code(f"pip install {provider.package}", language="bash", wrap_lines=True)
