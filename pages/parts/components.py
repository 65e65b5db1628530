"""Custom browser components: citations, screen-reader status, scrolling, focus, drafts, copy button, page picture."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any

import streamlit as st

from crag.translation import _
from pages.parts.address import ENTRY_PARAMETER

_PAGE_HTML = """
<div role="status" aria-live="polite" id="status"></div>
"""
_PAGE_CSS = """
#status { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
:host { display: block; height: 0; }
"""
_PAGE_JS = """
const FIELDS = "input, textarea, select, [contenteditable]"
const BELOW_HEADER = 68  // pixels
export default function ({ data, parentElement, setTriggerValue }) {
  const status = parentElement.querySelector("#status")
  if (status && status.textContent !== data.status) status.textContent = data.status
  const main = document.querySelector('[data-testid="stMain"]')
  const content = document.querySelector('[data-testid="stMainBlockContainer"]')
  const toEnd = () => {  // on a phone only as far as the beginning of the answer stays in view
    const newest = [...main.querySelectorAll('[data-testid="stChatMessage"]')].at(-1)
    const isPhone = matchMedia("(max-width: 640px), (max-height: 500px)").matches
    main.scrollTo({ top: isPhone && newest ? newest.offsetTop - BELOW_HEADER : main.scrollHeight })
    window.__cragScrolledTo = main.scrollTop
  }
  if (window.__cragRun !== data.run) window.__cragAtEnd = Boolean(data.run) && !data.stays
  window.__cragRun = data.run
  const INPUTS = ["wheel", "touchmove", "pointerdown", "keydown"]
  const noteLeaving = () => {
    if (main.scrollTop === window.__cragScrolledTo) return
    window.__cragAtEnd = main.scrollHeight - main.scrollTop - main.clientHeight < 80
  }
  const acted = ({ type, target, timeStamp }) => {  // the scroll bar is pressed on the scrolled element itself
    const isOther = type === "pointerdown" ? target !== main : type === "keydown" && target.matches?.(FIELDS)
    if (!isOther) window.__cragActed = timeStamp
    if (type === "pointerdown" && content.contains(target)) noteLeaving()
  }
  const changed = new MutationObserver(() => { window.__cragChanged = performance.now() })
  const isWithin = (moment, milliseconds) => performance.now() - (moment ?? -Infinity) < milliseconds
  const scrolled = () => {  // our own scrolling, or content that shrinks for a moment, is no wish of the reader
    if (main.scrollTop === window.__cragScrolledTo) return
    const isWish = isWithin(window.__cragActed, 1000) || !isWithin(window.__cragChanged, 200)
    if (isWish) noteLeaving()
    else if (data.run && window.__cragAtEnd) toEnd()
  }
  const grown = new ResizeObserver(() => { if (data.run && window.__cragAtEnd) toEnd() })
  const openCitation = (link) => setTriggerValue("cited", link.slice(6))
  const heard = (event) => {
    if (event.target.closest?.('[class*="st-key-trace-of-"]') && !navigator.userAgent.includes("Mobi")) {
      document.querySelector('[data-testid="stExpandSidebarButton"]')?.click()  // there is one while it is closed
    }
    if (event.target.closest?.('[data-testid="stChatInputSubmitButton"]')) sent()
    const link = event.target.closest ? event.target.closest('a[href^="#cite-"]') : null
    if (!link) return
    event.preventDefault()
    openCitation(link.getAttribute("href"))
  }
  const escaped = (event) => {  // a button disabled while busy has lost the focus, so Esc misses its dialog
    if (event.key !== "Escape" || document.activeElement !== document.body) return
    document.querySelector('[role="dialog"] button[aria-label="Close"]')?.click()
  }
  const type = (field, text) => {
    if (field.value === text) return
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(field, text)
    field.dispatchEvent(new Event("input", { bubbles: true }))
  }
  const drafts = window.__cragDrafts ??= {}  // texts of open editors, by key; the server learns them when they are sent
  const findEditor = () => data.focus && document.querySelector(`.st-key-${data.focus} textarea`)
  const readStore = () => {
    try { return window.sessionStorage } catch { return window.__cragStore ??= {} }  // the browser keeps nothing
  }
  const store = readStore()
  const draftKey = (place) => `crag-draft ${data.user} ${place}`
  const keepDraft = () => {
    const box = findQuestionBox()
    if (!box?.__cragDraft) return
    delete store[box.__cragDraft]
    try { if (box.value) store[box.__cragDraft] = box.value } catch {}  // the store is full
  }
  const adoptDraft = (box) => {  // the same box may serve one conversation after another
    const key = draftKey(data.place), isFirst = !box.__cragDraft
    if (box.__cragDraft === key) return
    box.__cragDraft = key
    if (isFirst && box.value) keepDraft()
    else type(box, store[key] ?? "")
  }
  const isTouch = matchMedia("(pointer: coarse)").matches  // where a focused field opens the keyboard
  const sent = () => setTimeout(() => {  // Streamlit has emptied the box by then
    keepDraft()
    const box = findQuestionBox()
    if (isTouch && !box?.value) box?.blur()
  })
  const edited = ({ target }) => {  // perhaps before the server has told `data.focus`
    if (target === findQuestionBox()) keepDraft()
    const [, key] = target.closest?.('[class*="st-key-edited-"]')?.className.match(/st-key-(edited-\\d+)/) ?? []
    if (key) drafts[key] = target.value
  }
  const restoreDraft = (tries) => {  // after Back and Forward the editor is drawn with the question as it was asked
    const field = findEditor(), draft = drafts[data.focus]
    if (!field && tries) setTimeout(restoreDraft, 50, tries - 1)
    if (field && draft !== undefined) type(field, draft)
  }
  const last = window.__cragEditor
  if (last && last.place === data.place && last.key !== data.focus) delete drafts[last.key]  // sent or cancelled
  window.__cragEditor = { place: data.place, key: data.focus }
  if (data.focus) restoreDraft(200)
  const focus = (tries) => {  // the field may be drawn after this
    const field = findEditor()
    if (field) {
      window.__cragAtEnd = false  // keep the edited question in view
      field.focus({ preventScroll: true })
      field.scrollIntoView({ block: "center" })  // clear of the header
    }
    else if (tries) setTimeout(focus, 50, tries - 1)
  }
  const findQuestionBox = () => document.querySelector('[data-testid="stChatInputTextArea"]')
  const isBusy = () => document.querySelector('[role="dialog"], [role="menu"], [role="listbox"]')
  const focusBox = (tries) => {  // the box may be drawn after this
    const box = findQuestionBox()
    if (window.__cragData !== data) return
    if (!box) {
      if (tries) setTimeout(focusBox, 50, tries - 1)
      return
    }
    adoptDraft(box)
    if (box.__cragPlace === data.place) return
    box.__cragPlace = data.place
    box.setAttribute("aria-keyshortcuts", "/")
    const { activeElement } = document
    const isFree = activeElement === document.body || (data.place === "new" && !activeElement.matches(FIELDS))
    if (!isFree || isBusy() || getSelection().toString() || data.focus) return
    if (!isTouch) box.focus({ preventScroll: true })
  }
  const typed = (event) => {
    if (event.key === "Enter") sent()
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return
    if (event.target.closest?.(FIELDS) || isBusy()) return
    event.preventDefault()
    findQuestionBox()?.focus()
  }
  window.__cragData = data
  const mine = draftKey(""), [former, begun] = ["new", data.place].map(draftKey)
  Object.keys(store).forEach((key) => {  // of another person
    if (key.startsWith("crag-draft ") && !key.startsWith(mine)) delete store[key]
  })
  if (data.begun && store[former] !== undefined) {  // typed after the first question was sent
    store[begun] = store[former]
    delete store[former]
  }
  focusBox(400)  // 20 s: a busy machine draws it late
  if (data.focus && window.__cragFocus !== data.focus) focus(40)
  window.__cragFocus = data.focus
  const { hash, pathname, search } = window.location
  if (hash.startsWith("#cite-")) {  // clicked before `heard` listened: the browser has followed the link
    window.history.replaceState({ cragDialog: true }, "", pathname + search)
    openCitation(hash)
  }
  window.__cragClean?.()  // this function runs again whenever its data changes
  document.addEventListener("click", heard)
  document.addEventListener("keydown", escaped)
  document.addEventListener("keydown", typed)
  document.addEventListener("input", edited)
  for (const input of INPUTS) document.addEventListener(input, acted, { passive: true })
  const clean = () => {
    document.removeEventListener("click", heard)
    document.removeEventListener("keydown", escaped)
    document.removeEventListener("keydown", typed)
    document.removeEventListener("input", edited)
    for (const input of INPUTS) document.removeEventListener(input, acted)
    main.removeEventListener("scroll", scrolled)
    grown.disconnect()
    changed.disconnect()
  }
  window.__cragClean = clean
  grown.observe(content)
  changed.observe(content, { attributes: true, childList: true, subtree: true })
  main.addEventListener("scroll", scrolled, { passive: true })
  return clean
}
"""
_HISTORY_JS = """
export default function ({ data }) {
  if (window.__cragHistory) return
  window.__cragHistory = true
  // React Aria puts the focus into an opened menu once no transition runs, and keeps waiting for one of an element of
  // which several were cancelled at once, since it listens to the first alone.
  document.addEventListener("transitioncancel", ({ target, propertyName }) => {
    target.dispatchEvent(new TransitionEvent("transitionend", { propertyName, bubbles: true }))
  })
  const readEntry = () => ({ address: window.location.href, isDialog: Boolean(window.history.state?.cragDialog) })
  let pending, entry = readEntry()
  const tracked = (change) => (...to) => {
    change.apply(window.history, to)
    entry = readEntry()
  }
  const { pushState, replaceState } = window.history
  const push = tracked(pushState), replace = tracked(replaceState)
  window.history.replaceState = replace
  window.history.pushState = (state, title, address) => {
    const url = new URL(address, window.location.href)
    const kind = url.searchParams.get(data.entry)
    if (kind === null) return push(state, title, address)
    url.searchParams.delete(data.entry)
    clearTimeout(pending)
    if (url.pathname !== window.location.pathname) push(state, title, url)
    else if (kind === "replace") {  // after a change of page, which Streamlit puts into the address a moment later
      pending = setTimeout(() => replace(state, title, url), 300)
    }
  }
  const findDialog = () => document.querySelector('[data-testid="stDialog"]')
  const findSidebar = () => matchMedia("(max-width: 767px)").matches  // where it covers the page
    && document.querySelector('[data-testid="stSidebar"][data-collapsed="false"]')
  const root = document.getElementById("root")
  const release = () => {  // a dialog that was drawn again while it closed leaves the page inert
    const overlays = '[role="dialog"], [role="menu"], [role="listbox"]'
    const isCovered = [...document.body.children].some((part) => part !== root && part.querySelector(overlays))
    if (!root.inert || findDialog()) return
    if (isCovered) setTimeout(release, 500)  // what covers it may leave without a trace in the body
    else root.inert = false
  }
  new MutationObserver(() => setTimeout(release, 500)).observe(root, { attributeFilter: ["inert"] })
  const enter = () => {
    if ((findDialog() || findSidebar()) && !entry.isDialog) push({ cragDialog: true }, "")
  }
  enter()
  new MutationObserver(() => {
    enter()
    if (!findDialog() && root.inert) setTimeout(release, 500)
  }).observe(document.body, { childList: true })
  new MutationObserver(enter).observe(document.body, { subtree: true, attributeFilter: ["data-collapsed"] })
  const closeSidebar = () => {
    const sidebar = findSidebar()
    if (sidebar) sidebar.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click()
    return Boolean(sidebar)
  }
  const closeDialog = () => {
    const dialog = findDialog()
    if (dialog) dialog.querySelector('button[aria-label="Close"]')?.click()
    return Boolean(dialog) || closeSidebar()
  }
  const keys = ["open", "undo", "collection", "run", "evaluation", "section"]  // of buttons that lead elsewhere
  const choices = ['[data-testid="stSidebarNavLink"]', ...keys.map((key) => `[class*="st-key-${key}-"] button`)].join()
  document.addEventListener("click", ({ target }) => {
    if (target.closest?.('[data-testid="stSidebar"]') && target.closest(choices)) setTimeout(closeSidebar)
    if (!target.closest?.(".st-key-sidebar-opener")) return
    document.querySelector('[data-testid="stExpandSidebarButton"]')?.click()
  })
  const isSamePlace = (one, other) => one.address === other.address && one.isDialog !== other.isDialog
  const setAddress = (address) => replaceState.call(window.history, window.history.state, "", address)
  window.navigation?.addEventListener("currententrychange", ({ navigationType }) => {
    // Streamlit has nothing to draw, and ignores the popstate event that follows if the address has a fragment.
    if (navigationType === "traverse" && isSamePlace(entry, readEntry())) setAddress(entry.address + "#")
  })
  const keepTyped = () => {  // Streamlit learns what was typed into a field when that loses the focus
    if (document.activeElement?.matches("input, textarea")) document.activeElement.blur()
  }
  window.addEventListener("popstate", keepTyped, true)  // before Streamlit draws the place that was reached
  window.addEventListener("popstate", () => {
    clearTimeout(pending)
    const left = entry
    if (window.location.href === left.address + "#") setAddress(left.address)
    entry = readEntry()
    if (!isSamePlace(left, entry)) return
    if (entry.isDialog) window.history.forward()
    else if (!closeDialog()) {  // it was closed otherwise and left its entry behind, unless it is being drawn again
      const reached = entry
      setTimeout(() => { if (entry === reached && !closeDialog()) window.history.back() }, 200)
    }
  })
}
"""
_COPY_HTML = """
<button type="button"><svg viewBox="0 -960 960 960" aria-hidden="true"><path
d="M360-240q-33 0-56.5-23.5T280-320v-480q0-33
23.5-56.5T360-880h360q33 0 56.5 23.5T800-800v480q0 33-23.5 56.5T720-240H360Zm0-80h360v-480H360v480ZM200-80q-33
0-56.5-23.5T120-160v-560h80v560h440v80H200Zm160-240v-480 480Z"/></svg><span>Copy</span></button>
"""
_COPY_CSS = """
button { display: flex; align-items: center; gap: 0.5rem; border: 0; background: none; padding: 0.25rem 0;
  min-height: 2.5rem; color: var(--st-text-color); font: inherit; font-family: var(--st-font); font-size: 0.875rem;
  cursor: pointer; border-radius: var(--st-button-radius); }
button:hover { color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
svg { width: 1.25em; height: 1.25em; fill: currentColor; }
"""
_COPY_JS = """
export default function ({ data, parentElement }) {
  const button = parentElement.querySelector("button")
  const word = button.querySelector("span")
  word.textContent = data.label
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(data.text)
      word.textContent = data.copied
    } catch {
      word.textContent = data.refused
    }
    setTimeout(() => { word.textContent = data.label }, 1500)
  }
}
"""
_PICTURE_HTML = """
<div class="frame"><button type="button" aria-expanded="false"><img alt=""><i></i></button></div>
"""
_PICTURE_CSS = """
:host { display: block; }
.frame { overflow: auto; border: 1px solid var(--st-border-color); border-radius: var(--st-base-radius); }
button { display: block; position: relative; border: 0; padding: 0; background: none; cursor: zoom-in; }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: -2px; }
i { position: absolute; scroll-margin-block: 5rem; }
button[aria-expanded="true"] { cursor: zoom-out; }
img { display: block; width: 100%; }
button[aria-expanded="false"] img.narrow { width: auto; max-width: 100%; }
.frame:has([aria-expanded="true"]) { max-height: 75vh; overscroll-behavior-x: contain; }
"""
_PICTURE_JS = """
const ENLARGED = 1.8  // at least, in widths of the frame
export default function ({ data, parentElement }) {
  const frame = parentElement.querySelector(".frame")
  const [button, picture, mark] = ["button", "img", "i"].map((name) => frame.querySelector(name))
  const setEnlarged = (isEnlarged, [x, y]) => {
    button.setAttribute("aria-expanded", isEnlarged)
    picture.style.width = isEnlarged ? `${Math.max(picture.naturalWidth, ENLARGED * frame.clientWidth)}px` : ""
    if (!isEnlarged) return
    const place = (share, size, seen) => share * size - seen / 4  // a little after the upper left corner
    frame.scrollTo(place(x, picture.width, frame.clientWidth), place(y, picture.height, frame.clientHeight))
    frame.scrollIntoView({ block: "nearest" })
  }
  picture.className = data.narrow ? "narrow" : ""
  button.setAttribute("aria-label", data.label)
  button.title = data.enlarge
  if (picture.src !== data.source) {
    const [x, y] = data.mark ?? [0, 0]
    mark.style.left = `${100 * x}%`
    mark.style.top = `${100 * y}%`
    picture.onload = () => { if (data.mark) mark.scrollIntoView({ block: "nearest", inline: "nearest" }) }
    picture.src = data.source
    setEnlarged(false, [0, 0])
  }
  button.onclick = ({ offsetX, offsetY, detail }) => {  // from the keyboard, `detail` is 0
    const tapped = detail ? [offsetX / picture.width, offsetY / picture.height] : [0, 0]
    setEnlarged(button.getAttribute("aria-expanded") === "false", data.mark ?? tapped)
  }
}
"""

_page_component = st.components.v2.component("page_glue", html=_PAGE_HTML, css=_PAGE_CSS, js=_PAGE_JS)
_history_component = st.components.v2.component(
    "history_glue", html="<i></i>", css=":host { display: block; height: 0; }", js=_HISTORY_JS
)
_copy_component = st.components.v2.component("copy_button", html=_COPY_HTML, css=_COPY_CSS, js=_COPY_JS)
_picture_component = st.components.v2.component("page_picture", html=_PICTURE_HTML, css=_PICTURE_CSS, js=_PICTURE_JS)


def sync_page(
    status: str,
    run_id: str,
    on_cited: Callable[[], None],
    *,
    conversation_id: str = "",
    stays: bool = False,
    focus: str = "",
    user: str = "",
    begun: bool = False,
) -> None:
    """Announce `status` to screen readers and scroll to the end when the last run changes.

    The question box receives the focus when a conversation opens, unless something else has it, and on the key `/`. On
    a touch screen, where the focus opens the keyboard, it does not, and loses the focus once a question is sent. What
    is typed there is kept in this tab until it is sent, for `user` and this conversation alone; `begun` means that the
    conversation began on the page for a new one. `stays` suppresses the scrolling. `focus` is the key of a text area
    that receives the focus once it is drawn. `on_cited` is called after a click on a citation; read it with
    `clicked_citation`.
    """
    place = conversation_id or "new"
    data = {"status": status, "run": run_id, "place": place, "user": user, "begun": begun}
    data |= {"stays": stays, "focus": focus}
    _page_component(data=data, key="page_glue", height="content", on_cited_change=on_cited)


def clicked_citation() -> tuple[str, str]:
    """Return run id and number of the clicked citation, unvalidated; call only inside `on_cited`.

    The number is that of the source, or source and sentence as in `2.0`.
    """
    state: Any = st.session_state.get("page_glue")
    run_id, _, number = str(state.cited if state else "").rpartition("-")
    return run_id, number


def install_history() -> None:
    """Keep one history entry for each place, and let Back close an open dialog.

    Where the sidebar covers the page, it closes when something is chosen in it.
    The browser replaces or keeps its entry when an address asks for it; Streamlit always adds one. A dialog gets an
    entry with the address of the page below. Back and Forward pass over that entry once the dialog is closed.
    """
    _history_component(data={"entry": ENTRY_PARAMETER}, key="history_glue", height="content")


def draw_copy_button(text: str, key: str, label: str = "") -> None:
    """Draw a button that copies `text` to the clipboard."""
    words = {"label": label or _("Copy"), "copied": _("Copied"), "refused": _("Not allowed")}
    _copy_component(data={"text": text, **words}, key=key, width="content", height="content")


def draw_page_picture(
    png: bytes, label: str, key: str, *, mark: tuple[float, float] | None = None, narrow: bool = False
) -> None:
    """Draw a picture as wide as its place, which opens enlarged and scrollable at `mark` when it is tapped.

    `mark` is a place in shares of its width and height, by default the one that was tapped. A `narrow` picture does not
    grow beyond its own size.
    """
    source = f"data:image/png;base64,{b64encode(png).decode()}"
    data = {"source": source, "label": label, "enlarge": _("Enlarge or shrink"), "mark": mark, "narrow": narrow}
    _picture_component(data=data, key=key, height="content")
