"""The chat page and its parts.

`page` draws it all; `state` is what it remembers, `questions` what its buttons set in motion.

- Messages: `messages` in their order, `start` where there are none. A question as it was `asked` with its
  `attachments`, and `editing` it. `answer` with `thoughts`, `versions`, `failures`, `support` (by sentence) and
  `consent` (may a query go out?); `live` is the one that is being written, `waits` what it waits for.
- Below an answer: `actions`, `feedback`, the menu `more` with `copying`; `next_questions` below the last one.
- At the bottom: `box` for the question, with `chips`; behind the last chip `options`, with `presets` and `controls`.
- The `sidebar`: the trace, or the list of `conversations` with the `conversation_menu` of each.
"""
