"""Parser for e-mails (.eml): headers, text, and the names of attachments."""

from __future__ import annotations

from collections.abc import Iterator
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

from crag.errors import SourceRefused
from crag.library.parse.document import Block, Document
from crag.library.parse.encoding import decode
from crag.library.parse.plain import read_plain
from crag.library.parse.request import Request
from crag.library.parse.webpage import read_html

_SHOWN = ("from", "to", "cc", "date")


def read_mail(request: Request) -> Document:
    """Parse the subject as heading, then the plain text or else the main text of the HTML. Raises `SourceRefused`."""
    message = message_from_bytes(request.data, policy=default)
    if not message.keys():
        raise SourceRefused("corrupt", "The file is not an e-mail.", "Save the message anew as .eml and add that.")
    subject = _said(message, "subject")
    attached = [name for part in message.walk() if (name := part.get_filename())]
    blocks = [Block(subject, "heading", level=1)] if subject else []
    blocks += [Block(f"{name.title()}: {said}", "row") for name in _SHOWN if (said := _said(message, name))]
    blocks += _body(message, request)
    blocks += [Block(f"Attachments: {', '.join(attached)}")] if attached else []
    return Document(subject, "eml", None, tuple(blocks))


def _said(message: EmailMessage, name: str) -> str:
    """Return a header on one line.

    Empty where it is missing, or malformed in a way that makes the standard library raise.
    """
    try:
        return " ".join(str(message[name] or "").split())
    except (IndexError, ValueError, AttributeError):
        return ""


def _body(message: EmailMessage, request: Request) -> Iterator[Block]:
    part = message.get_body(preferencelist=("plain", "html"))
    data = part.get_payload(decode=True) if part is not None else None
    if part is None or not isinstance(data, bytes) or not data.strip():
        return
    html = part.get_content_subtype() == "html"
    text = decode(data, part.get_content_charset(), html)
    yield from read_html(request, text).blocks if html else read_plain(text).blocks
