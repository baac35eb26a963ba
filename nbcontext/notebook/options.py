"""The words of a magic line as options: parsed as a shell would, a wrong one answered in one line."""

from __future__ import annotations

import argparse
import shlex
from typing import NoReturn

from nbcontext.errors import UsageError


class Options(argparse.ArgumentParser):
    """An argument parser that raises instead of leaving the process."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(prog=prog, description=description, add_help=False, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong, with the usage on the same line."""
        raise UsageError(f"{message[:1].upper()}{message[1:]}. {self.usage_line()}")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Raise: a magic never ends the process."""
        raise UsageError(message or f"Ended with {status}.")

    def usage_line(self) -> str:
        """Return the usage on one line."""
        return " ".join(self.format_usage().split())

    def parse(self, line: str) -> argparse.Namespace:
        """Return the options of a magic line.

        Raises:
            UsageError: a quote is not closed, or an option is unknown, missing or of the wrong form.
        """
        return self.parse_args(words(line))


def words(line: str) -> list[str]:
    """Return the words of a line as a shell parts them; an unquoted `#` at a word's start begins a comment.

    Raises:
        UsageError: a quote is not closed.
    """
    lexer = shlex.shlex(line[: _comment(line)], posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError as error:
        raise UsageError(f"The line cannot be read ({error}): close the quote, or put a backslash before it.") from None


def _comment(line: str) -> int:
    """Return where a comment begins in `line`; its length where there is none."""
    quote, escaped, at_start = "", False, True
    for position, character in enumerate(line):
        if escaped:
            escaped = False
        elif quote:
            escaped = character == "\\" and quote == '"'
            quote = "" if character == quote else quote
        elif character == "#" and at_start:
            return position
        elif character == "\\":
            escaped = True
        elif character in "'\"":
            quote = character
        at_start = not quote and not escaped and character.isspace()
    return len(line)
