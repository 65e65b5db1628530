"""Catalogues hold every text of the code, and pages show no text outside of them.

`python -m tests.test_translations` adds new texts to the catalogues and removes the ones that are gone.
"""

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from babel import Locale
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from markdown_it import MarkdownIt

from crag.app.checklist import ALWAYS_SHOWN
from crag.app.run_resources import REMOTE_MODEL_NOTE
from crag.errors import FAULTS
from crag.evaluation.dataset_format import SEED_DATASET
from crag.evaluation.dataset_records import PINNED_DATASET_NAME
from crag.evaluation.metrics import DIFFERENT_JUDGES_NOTE, METRICS, STATE_BADGES, ChangeAssessment
from crag.evaluation.metrics import VERDICT_BADGES as ANSWER_BADGES
from crag.events import NODES
from crag.ingest.parse.child import UNSUPPORTED_SIGNATURES
from crag.ingest.parse.formats import FORMATS, SUPPORTED
from crag.inspection import run_labels, steps
from crag.models.evaluator_weights import KNOWN_EVALUATORS
from crag.models.model_choice import BUILTIN_LABEL, embedder_label
from crag.options import GRADERS, OPTIONS, POLICIES, REWRITE_STYLES, ROLES, ROUTES, WEB_MODES, OptionSection
from crag.reference_systems import REFERENCE_SYSTEMS
from crag.storage.api_tokens import SCOPES
from crag.storage.preferences import ValueOrigin
from crag.translation import FOLDER, list_languages
from crag.types import OutboundKind
from tests.test_structure import CRAG, PAGES, ROOT, parse_file

Message = str | tuple[str, str]
ERRORS = re.compile(
    r"(Refused|NotLoggedIn|LimitReached|HttpErrorStatus|_TooLarge|Fault|WebSearchFailed|LangSmithFailed|BadRequest|ArgumentTypeError|_Unreachable|Refusal|StillAnswering|NotFound|CragError|TooManyFailures|DatabaseClosed|DatabaseUnreachable|unsupported_refusal|refusal|_error|_fault|_refuse\w*)$"
)
COMPOSED = {"Check", "CheckAction", "ModelChoice", "CondensedQuestion", "RouteChoice", "answer_as_fact", "_borrow"}
COMPOSED |= {"Noted", "progress", "RunEnded", "Progress", "Judgement", "Grade", "CalculationFailed", "TablesTooLarge"}
WRITTEN = datetime(2026, 1, 1, tzinfo=UTC)  # always the same, so that branches do not differ by it
PLACEHOLDER = re.compile(r"(?:\{|%\()(\w*)[^{}()]*(?:\}|\)s)")


def texts_of_tables() -> Iterator[str]:
    """The texts of the tables that have no mark, because they are nothing but texts."""
    for option in OPTIONS.values():
        yield from (option.title, option.help, option.unit, option.empty_means, option.receives)
        yield from (word for pair in option.values.values() for word in pair)
    for grader in GRADERS.values():
        yield from (grader.label, grader.explanation)
    for choices in (POLICIES, REWRITE_STYLES, ROUTES, WEB_MODES):
        yield from (word for pair in choices.values() for word in pair)
    for node in NODES.values():
        yield from (node.title, node.activity, node.meaning, node.restart)
    for fault in FAULTS.values():
        yield from (fault.what, fault.remedy)
    yield from (text for known in FORMATS for text in (known.label, known.family))
    yield from (text for system in REFERENCE_SYSTEMS.values() for text in (system.title, system.origin))
    yield from (known.languages for known in KNOWN_EVALUATORS.values())
    yield from (option.title.rpartition(": ")[2].capitalize() for option in OPTIONS.values() if option.role)
    yield from (
        BUILTIN_LABEL,
        embedder_label("builtin"),
        embedder_label("nomic"),
        PINNED_DATASET_NAME,
        SEED_DATASET.name,
    )
    yield from (text for metric in METRICS.values() for text in (metric.title, metric.meaning))
    tables = (
        run_labels.VERDICT_BADGES,
        run_labels.STRENGTH_BADGES,
        run_labels.RULING_BADGES,
        run_labels.OUTCOME_BADGES,
    )
    for table in (*tables, run_labels.ACTION_BADGES, run_labels.RUN_STATE_BADGES, STATE_BADGES, ANSWER_BADGES):
        yield from (badge.english for badge in table.values())  # type: ignore[attr-defined]
    yield from run_labels._CHANGE_LABELS.values()
    yield from (steps._SMALL_TALK_NAMES | steps._SUFFICIENCY_WORDS).values()
    yield from ALWAYS_SHOWN
    yield from ARGPARSE
    yield SUPPORTED
    yield from UNSUPPORTED_SIGNATURES.values()
    yield from (REMOTE_MODEL_NOTE, DIFFERENT_JUDGES_NOTE)
    yield from SCOPES.values()
    yield from (role.title() for role in ROLES)
    yield from get_args(OptionSection)
    yield from (*get_args(ValueOrigin), *get_args(ChangeAssessment), *get_args(OutboundKind), "Scans", "Disk")
    yield from ("in use", "ready", "answers by quoting your documents, no set-up needed")  # parts of one check


TO_PROGRAMS = ("crag.api", "crag.mcp.server", "crag.tables.query")
"""Modules whose texts are for programs and models, which read English."""
READ = {**PAGES, **CRAG, "launcher": ROOT / "launcher.py"}

ARGPARSE = (
    *("usage:", "positional arguments", "options", "actions", "show this help message and exit"),
    *("the following arguments are required: {names}", "unrecognized arguments: {names}"),
    *("argument {name}: {message}", "invalid choice: {value} (choose from {choices})", "expected one argument"),
    *("expected at least one argument", "expected {count} arguments", "not allowed with argument {name}"),
)
"""What Python's parser says of the arguments of a command, with names for its values."""


def test_every_error_of_the_application_is_known_by_its_name():
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for file in READ.values()
        for node in ast.walk(parse_file(file))
        if isinstance(node, ast.ClassDef)
    }
    errors = {"CragError"}
    while more := {name for name, known in bases.items() if known & errors} - errors:
        errors |= more
    assert {name for name in errors if not ERRORS.search(name)} == set()


PRINTED = {"PlainTextResponse", "print", "ArgumentParser"}


@pytest.mark.parametrize(
    "module", ["launcher", "crag.__main__", *(name for name in CRAG if name.startswith("crag.server."))]
)
def test_what_a_server_prints_and_replies_is_looked_up(module: str):
    """A text that is given to one of these calls as it stands is English in every language."""
    found = []
    for call in ast.walk(parse_file(READ[module])):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name | ast.Attribute):
            name = call.func.id if isinstance(call.func, ast.Name) else call.func.attr
            given = [*call.args, *(one.value for one in call.keywords)] if name in PRINTED else []
            found += [text for one in given for text in _texts(one) if _is_sentence(text) and text[0] != "{"]
    assert found == []


MARKED = re.compile(r'(?<!\w)_\("([^"]+)"\)')


@cache
def extract_messages() -> dict[Message, str]:
    """Every text to translate, with the module that holds it first."""
    found: dict[Message, str] = {}
    for name, file in READ.items():
        if name.startswith(TO_PROGRAMS):
            continue
        tree = parse_file(file)
        help_texts = _help_of(tree) if name.startswith("crag.cli.") else ()
        for message in (*_messages_of(tree), *help_texts, *(_spoken(tree) if SPEAKING.match(name) else ())):
            found.setdefault(message, name)
    for template in sorted((ROOT / "crag").rglob("*.jinja")):
        for text in MARKED.findall(template.read_text(encoding="utf-8")):
            found.setdefault(text, template.name)
    for text in texts_of_tables():
        if text:
            found.setdefault(text, "tables")
    return found


SPEAKING = re.compile(
    r"crag\.(app\.(checklist|model_checks)|models\.model_choice|graph\.(policy|web_nodes|answer_nodes|nodes)|runs\.(revisions|versions)|library\.jobs|ingest\.pipeline"
    r"|evaluation\.(regression|threshold_proposal|rechunked_libraries|calibrator|evaluations)|retrieval\.space_switch)$"
)
"""Modules that compose texts of events, checks and jobs: each of their texts is one of the screen."""


def _spoken(tree: ast.AST) -> Iterator[Message]:
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    said |= {id(one) for call in calls if ast.unparse(call.func).startswith("_log.") for one in call.args}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in inside | said:
            yield from (text for text in _texts(node) if _is_sentence(text))


def _messages_of(tree: ast.AST) -> Iterator[Message]:
    named: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                named.setdefault(name, []).extend(_texts(value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            texts = [text for argument in node.args for text in _texts(argument)]
            if name in {"_", "N_"}:
                yield from texts
            elif name == "ngettext" and len(texts) > 1:
                yield texts[0], texts[1]
            elif name == "format_count" and len(node.args) > 1:
                yield from _counted(node)
            elif ERRORS.search(name) or name in COMPOSED:
                given = [*node.args, *(keyword.value for keyword in node.keywords)]
                texts = [text for one in given for text in _texts(one)]
                texts += [text for one in given if isinstance(one, ast.Name) for text in named.get(one.id, ())]
                yield from (text for text in texts if _is_sentence(text))


def _help_of(tree: ast.AST) -> Iterator[Message]:
    """The help of commands, which is the docstring of their functions, and of their arguments."""
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    registering = [functions[name] for name in ("register",) if name in functions]
    registered = {node.id for one in registering for node in ast.walk(one) if isinstance(node, ast.Name)}
    for name in sorted(registered & functions.keys()):
        if [one.arg for one in functions[name].args.args][1:] == ["options"]:
            yield " ".join((ast.get_docstring(functions[name]) or "").split())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            texts = [text for keyword in node.keywords if keyword.arg == "help" for text in _texts(keyword.value)]
            yield from (text for text in texts if re.search(r"[a-z]{3}", PLACEHOLDER.sub("", text)))


def _counted(node: ast.Call) -> Iterator[Message]:
    if all(isinstance(one, ast.Constant) for one in node.args[1:]):
        singular, *plural = (str(one.value) for one in node.args[1:])  # type: ignore[attr-defined]
        yield f"{{count}} {singular}", f"{{count}} {plural[0] if plural else singular + 's'}"


def _is_sentence(text: str) -> bool:
    return bool(re.search(r"[A-Za-z]{2,} ?[A-Za-z{]", PLACEHOLDER.sub("{}", text))) and " " in text


def _texts(node: ast.AST) -> Iterator[str]:
    """The texts that an argument may be; the values of an f-string become placeholders."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(_part(part) for part in parts)
        case ast.IfExp(body=body, orelse=other):
            yield from _texts(body)
            yield from _texts(other)


def _part(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    words = re.findall(r"[a-z]+", ast.unparse(part.value).rpartition("(")[2] or ast.unparse(part.value))  # type: ignore[attr-defined]
    return f"{{{'_'.join(words[-2:]) or 'value'}}}"


def catalogue_file(language: str) -> Path:
    return FOLDER / language / "LC_MESSAGES" / "crag.po"


def read_catalogue(language: str) -> Catalog:
    with catalogue_file(language).open("rb") as file:
        return read_po(file, locale=language)


LANGUAGES = [language for language in list_languages() if language != "en"]


def update_catalogue(language: str, messages: dict[Message, str]) -> None:
    """Write the catalogue of a language with exactly these messages; known translations are kept."""
    file = catalogue_file(language)
    kept = read_catalogue(language) if file.exists() else Catalog(locale=language)
    written = Catalog(
        locale=Locale.parse(language),
        fuzzy=False,
        project="CRAG Chat",
        version="",
        header_comment="#",
        creation_date=WRITTEN,
        revision_date=WRITTEN,
    )
    for message, module in messages.items():
        key = message[0] if isinstance(message, tuple) else message
        before = kept.get(key)
        written.add(message, before.string if before else None, auto_comments=[module])
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as target:
        write_po(target, written, width=0, omit_header=False, no_location=True)


def test_no_text_is_translated_when_a_module_is_imported():
    """It would stay in the language of whoever opened the first page."""
    early = set()
    for name, file in (CRAG | PAGES).items():
        statements = [one for one in parse_file(file).body if isinstance(one, ast.Assign | ast.AnnAssign)]
        calls = (node for one in statements for node in ast.walk(one) if isinstance(node, ast.Call))
        if any(isinstance(call.func, ast.Name) and call.func.id in {"_", "translate_text"} for call in calls):
            early.add(name)
    assert early <= {"pages.compare.tables"}  # whose table holds functions


COMPOSED_WORD = re.compile(r"(?<![\w:/-])[a-z]{2,}(?= ?\0)|(?<=\0 )[a-z]{2,}\b")
SHOWN_VALUES = ("crag.inspection.steps", "crag.types")
UNSPOKEN = re.compile(
    r"pages\.(settings\.(privacy|sections|evaluators|model_settings|langsmith)|documents\.collections|evaluate\.(charts|risk_coverage))$"
)
"""Modules whose f-strings are terms of the search, commands, or expressions of charts."""


def _translated_arguments(call: ast.Call) -> Iterator[ast.expr]:
    """The arguments of a call that are translated, by it or where an error or the help of an argument is shown."""
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if name in {"_", "N_", "ngettext"} or ERRORS.search(name):
        yield from call.args
    yield from (keyword.value for keyword in call.keywords if name == "add_argument" and keyword.arg == "help")


def test_pages_and_commands_compose_no_english_text_around_a_value():
    """An f-string such as "{done} of {total}" would be English in every language."""
    found = []
    commands = {name: file for name, file in CRAG.items() if name.startswith("crag.cli.")}
    for name, file in {**PAGES, **commands, **{name: CRAG[name] for name in SHOWN_VALUES}}.items():
        tree = parse_file(file)
        marked = {
            id(part)
            for call in ast.walk(tree)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name | ast.Attribute)
            for argument in _translated_arguments(call)
            for part in ast.walk(argument)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr) and id(node) not in marked and not UNSPOKEN.match(name):
                text = "".join(str(one.value) if isinstance(one, ast.Constant) else "\0" for one in node.values)
                if COMPOSED_WORD.search(text):
                    found.append(f"{name}:{node.lineno}: {ast.unparse(node)}")
    assert found == []


def test_pages_look_up_the_texts_of_metrics():
    drawn = re.compile(r"(?<!_\()METRICS\[[^\]]*\]\.(?:title|meaning)")
    assert [name for name, file in PAGES.items() if drawn.search(file.read_text(encoding="utf-8"))] == []


PAGE_TEMPLATES = [file for file in sorted((ROOT / "crag").rglob("*.jinja")) if file.parent.name != "api"]
MARKUP = re.compile(
    r"<style>.*?</style>|\{%.*?%\}|\{\{.*?\}\}|<title>.*?</title>|<[^>]*>|\bCRAG Chat\b|\bn\b", re.DOTALL
)
LABEL = re.compile(r'(?:aria-label|title|alt)="([^"{]+)"')


@pytest.mark.parametrize("template", PAGE_TEMPLATES, ids=lambda file: file.name)
def test_every_text_of_an_exported_page_is_looked_up(template: Path):
    text = template.read_text(encoding="utf-8")
    assert re.findall(r"[A-Za-z]{2,}", MARKUP.sub(" ", text)) == []
    assert LABEL.findall(text) == []


def test_no_text_begins_or_ends_with_a_space():
    """Translators lose spaces at the edges, and languages differ in where they put them: see `join_texts`."""
    texts = (text for one in extract_messages() for text in (one if isinstance(one, tuple) else (one,)))
    assert [text for text in texts if text != text.strip()] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_is_translated(language: str):
    catalogue = read_catalogue(language)
    missing = []
    for message in extract_messages():
        found = catalogue.get(message[0] if isinstance(message, tuple) else message)
        strings = [found.string] if found and isinstance(found.string, str) else list(found.string) if found else [""]
        if not all(strings) or (found and found.fuzzy):
            missing.append(message)
    assert missing == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_have_the_placeholders_of_their_text(language: str):
    wrong = []
    for message in read_catalogue(language):
        if message.id:
            texts = message.id if isinstance(message.id, list | tuple) else (message.id,)
            expected = {frozenset(PLACEHOLDER.findall(text)) for text in texts}
            strings = message.string if isinstance(message.string, list | tuple) else (message.string,)
            wrong += [one for one in strings if one and frozenset(PLACEHOLDER.findall(one)) not in expected]
    assert wrong == []


DIRECTIVE = re.compile(r":[a-z-]+\[|:material/\w+:")


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_have_the_markup_of_their_text(language: str):
    """Emphasis that ends between a full stop and a letter is shown as asterisks: Chinese has no space there."""
    wrong = []
    for message in read_catalogue(language):
        if isinstance(message.id, str) and message.id:
            texts = [PLACEHOLDER.sub("x", text) for text in (message.id, message.string)]
            directives, emphases = ([find(one) for one in texts] for find in (_directives, _count_emphases))
            if directives[0] != directives[1] or emphases[0] != emphases[1]:
                wrong.append(message.string)
    assert wrong == []


def _directives(text: str) -> list[str]:
    return sorted(DIRECTIVE.findall(text))


def _count_emphases(text: str) -> int:
    tokens = MarkdownIt().parseInline(text)[0].children or []
    return sum(token.type in ("em_open", "strong_open") for token in tokens)


if __name__ == "__main__":
    for known in LANGUAGES:
        update_catalogue(known, extract_messages())
