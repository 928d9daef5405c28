"""Translation of the interface and of messages; docs/translating.md has the details."""

from __future__ import annotations

from typing import Literal

import bpy

from .catalogue import SENTENCE, languages, translations_of
from .sentences import translate_into, translator_of

__all__ = ["languages", "translate", "translate_into", "translate_report"]

# Blender's name of the extension.
_EXTENSION = __package__.rpartition(".")[0]

ShownIn = Literal["interface", "tooltips", "reports"]


def translate(sentence: object, where: ShownIn = "interface") -> str:
    """Return an English sentence in the language that Blender shows.

    Args:
        sentence: A status or an error. Names and numbers in it stay.
        where: Where it is shown. The user's preferences say for each place whether to translate.
    """
    text, language = str(sentence), bpy.app.translations.locale
    view = bpy.context.preferences.view
    if not getattr(view, f"use_translate_{where}") or language not in languages():
        return text
    return translate_into(text, language)


def translate_report(sentence: object) -> str:
    """Return an English sentence for a report, in the language that Blender shows."""
    return translate(sentence, "reports")


def register() -> None:
    """Register labels and tooltips with Blender, in all languages that have files."""
    shown = {
        language: {
            key: text
            for key, text in translations_of(language).items()
            if text and key[0] != SENTENCE
        }
        for language in languages()
    }
    bpy.app.translations.register(_EXTENSION, shown)


def unregister() -> None:
    """Remove the labels and tooltips again, and clear all caches."""
    bpy.app.translations.unregister(_EXTENSION)
    for cached in (translate_into, translator_of, translations_of, languages):
        cached.cache_clear()
