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
_QUOTED = r'"[^"\\\n]*(?:\\["\\n][^"\\\n]*)*"'
_TEXT = rf"({_QUOTED}(?:\n{_QUOTED})*)"
# In one go with the comments before it: files are read whenever the extension is enabled.
_ENTRY = re.compile(rf"(?:#.*\n|\n)*(?:msgctxt {_TEXT}\n)?msgid {_TEXT}\nmsgstr {_TEXT}(?:\n+|\Z)")
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
        ValueError: If an entry is none of the few kinds that these files have.
    """
    found: dict[tuple[str, str], str] = {}
    end = 0
    for entry in _ENTRY.finditer(text):
        if entry.start() != end:
            break
        end = entry.end()
        context, english, says = map(_plain, entry.groups())
        if english:
            found[context or LABEL, english] = says
    rest = text[end:].lstrip("\n")
    while rest.startswith("#"):
        rest = rest.partition("\n")[2].lstrip("\n")
    if rest:
        number = text.count("\n", 0, len(text) - len(rest)) + 1
        raise ValueError(f"The entry in line {number} is not as gettext writes it.")
    return found


def _plain(quoted: str | None) -> str:
    """Return what stands in quotes, of several lines joined; nothing for None."""
    text = (quoted or '""')[1:-1].replace('"\n"', "")
    if "\\" not in text:
        return text
    return _ESCAPED.sub(lambda match: "\n" if match[1] == "n" else match[1], text)
