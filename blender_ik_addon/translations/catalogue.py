"""The translations of a language, read from its file in the gettext format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

LABEL, OPERATOR, SENTENCE = "*", "Operator", "Sentence"
"""Contexts: labels and tooltips, names of operators, and sentences with names and numbers."""

Translations = Mapping[tuple[str, str], str]
"""Translations by context and English text; empty strings for texts not translated yet."""

_FOLDER = Path(__file__).parent
_QUOTED = r'"[^"\\\n]*(?:\\["\\n][^"\\\n]*)*"'
_TEXT = rf"({_QUOTED}(?:\n{_QUOTED})*)"
# Takes an entry with the comments before it: all files are read when the extension is enabled.
_ENTRY = re.compile(rf"(?:#.*\n|\n)*(?:msgctxt {_TEXT}\n)?msgid {_TEXT}\nmsgstr {_TEXT}(?:\n+|\Z)")
_ESCAPED = re.compile(r"\\(.)")


@cache
def languages() -> tuple[str, ...]:
    """Return Blender's names of the languages that have files."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.po")))


def path_of(language: str) -> Path:
    """Return the path of the file of a language."""
    return _FOLDER / f"{language}.po"


@cache
def translations_of(language: str) -> Translations:
    """Return the translations in the file of a language; cached."""
    return parse_translations(path_of(language).read_text(encoding="utf-8"))


def parse_translations(text: str) -> Translations:
    """Parse the translations of a text in the gettext format, without its header.

    Raises:
        ValueError: If an entry does not have the form of the entries of these files.
    """
    translations: dict[tuple[str, str], str] = {}
    end = 0
    for entry in _ENTRY.finditer(text):
        if entry.start() != end:
            break
        end = entry.end()
        context, english, translation = map(_unquote, entry.groups())
        if english:
            translations[context or LABEL, english] = translation
    rest = text[end:].lstrip("\n")
    while rest.startswith("#"):
        rest = rest.partition("\n")[2].lstrip("\n")
    if rest:
        number = text.count("\n", 0, len(text) - len(rest)) + 1
        raise ValueError(f"The entry in line {number} is not as gettext writes it.")
    return translations


def _unquote(quoted: str | None) -> str:
    """Return the text inside quotes, joined if it has several lines; empty for None."""
    text = (quoted or '""')[1:-1].replace('"\n"', "")
    if "\\" not in text:
        return text
    return _ESCAPED.sub(lambda match: "\n" if match[1] == "n" else match[1], text)
