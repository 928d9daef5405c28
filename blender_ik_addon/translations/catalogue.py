"""A language's words: what its file says of each English text, read from the gettext format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

LABEL, OPERATOR, SENTENCE = "*", "Operator", "Sentence"
"""Contexts: labels and tooltips, names of operators, and what is said with names and numbers."""

Words = Mapping[tuple[str, str], str]
"""Translations by context and English text; empty where there is none yet."""

_FOLDER = Path(__file__).parent
_LINE = re.compile(r'(?:(msgctxt|msgid|msgstr) )?"([^"\\]*(?:\\["\\n][^"\\]*)*)"')
_ESCAPED = re.compile(r"\\(.)")


@cache
def languages() -> tuple[str, ...]:
    """Return the languages that there are files for, as Blender calls them."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.po")))


def path_of(language: str) -> Path:
    """Return the file of a language."""
    return _FOLDER / f"{language}.po"


@cache
def words_of(language: str) -> Words:
    """Return what the file of a language says; read once."""
    return read_words(path_of(language).read_text(encoding="utf-8"))


def read_words(text: str) -> Words:
    """Return the words of a text in the gettext format, without its header.

    Raises:
        ValueError: If a line is none of the few kinds that these files have.
    """
    found: dict[tuple[str, str], str] = {}
    entry: dict[str, str] = {}
    part = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None or not (match[1] or part):
            raise ValueError(f"Line {number} is not as gettext writes it: {line}")
        if match[1] == "msgctxt" or (match[1] == "msgid" and part == "msgstr"):
            _add(found, entry)
            entry = {}
        part = match[1] or part
        entry[part] = entry.get(part, "") + _plain(match[2])
    _add(found, entry)
    return found


def _plain(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPED.sub(lambda match: "\n" if match[1] == "n" else match[1], text)


def _add(found: dict[tuple[str, str], str], entry: Mapping[str, str]) -> None:
    if entry.get("msgid"):
        found[entry.get("msgctxt", LABEL), entry["msgid"]] = entry["msgstr"]
