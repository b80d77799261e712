"""Answers in words: every sentence, table and line that a person reads."""
