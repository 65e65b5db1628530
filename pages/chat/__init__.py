"""Chat page.

`page` draws everything, `state` holds what the session remembers, `questions` starts, changes and stops runs.

- Messages: `messages` in their order or the start page; `question_editor`; `answer` with `versions`, `failures` and
  `consent`; `live_run` while an answer is being written.
- Below an answer: `answer_actions`.
- At the bottom: `question_box` with its chips; `options` is the drawer behind the last chip.
- `sidebar`: the trace, or the list of conversations.
"""
