"""The files with the translations, in the gettext format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from blender_ik_addon.translations.catalogue import LABEL

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n"}
_HEADER = """\
# Chain IK in this language; docs/translating.md tells how to mend a word.
msgid ""
msgstr ""
"Language: {language}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"""

Words = Mapping["tuple[str, str]", str]


def write_words(path: Path, wanted: Mapping[tuple[str, str], str], words: Words) -> None:
    """Write a file anew, in the order of what is wanted.

    Args:
        path: Of the file; its name is the language.
        wanted: Where each text comes from, by context and text.
        words: The translations that there are.
    """
    parts = [_HEADER.format(language=path.stem)]
    for (context, text), place in wanted.items():
        lines = [f"#: {place}"]
        lines += [] if context == LABEL else [f"msgctxt {_quoted(context)}"]
        lines += [f"msgid {_quoted(text)}", f"msgstr {_quoted(words.get((context, text), ''))}"]
        parts.append("\n".join(lines) + "\n")
    path.write_text("\n".join(parts), encoding="utf-8")


def _quoted(text: str) -> str:
    return '"' + re.sub(r'[\\"\n]', lambda match: _ESCAPES[match[0]], text) + '"'
