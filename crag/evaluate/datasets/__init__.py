"""Datasets: questions with what is known of right answers; read, kept, pinned from the chat, with their passages."""
