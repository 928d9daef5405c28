"""The interface and what is said, in the languages of people; docs/translating.md tells more."""

from __future__ import annotations

from typing import Literal

import bpy

from .catalogue import SENTENCE, languages, words_of
from .sentences import speech_of, translated

__all__ = ["languages", "said", "translate", "translated"]

# The package of the whole extension, as Blender calls it.
_EXTENSION = __package__.rpartition(".")[0]

Where = Literal["interface", "tooltips", "reports"]


def translate(sentence: object, where: Where = "interface") -> str:
    """Return an English sentence in the language that Blender shows.

    Args:
        sentence: A status, or an error; names and numbers in it stay.
        where: It is shown: what a person wants translated is chosen in the preferences.
    """
    text, language = str(sentence), bpy.app.translations.locale
    view = bpy.context.preferences.view
    if not getattr(view, f"use_translate_{where}") or language not in languages():
        return text
    return translated(text, language)


def said(sentence: object) -> str:
    """Return a sentence for a report, in the language that Blender shows."""
    return translate(sentence, "reports")


def register() -> None:
    """Have Blender show labels and tooltips in all languages that there are files for."""
    shown = {
        language: {
            key: says for key, says in words_of(language).items() if says and key[0] != SENTENCE
        }
        for language in languages()
    }
    bpy.app.translations.register(_EXTENSION, shown)


def unregister() -> None:
    """Take the words away again."""
    bpy.app.translations.unregister(_EXTENSION)
    for remembered in (translated, speech_of, words_of, languages):
        remembered.cache_clear()
