"""Translation of the interface and of messages; docs/translating.md has the details."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

import bpy

from ..core.model.message import Message
from .catalogue import SENTENCE, languages, translations_of

__all__ = ["languages", "translate", "translate_by", "translate_into", "translate_report"]

# Blender's name of the extension.
_EXTENSION = __package__.rpartition(".")[0]

ShownIn = Literal["interface", "tooltips", "reports"]


def translate(text: str, where: ShownIn = "interface") -> str:
    """Return an English text in the language that Blender shows.

    The user's preferences say for each place where it is shown whether to translate.
    """
    language, view = bpy.app.translations.locale, bpy.context.preferences.view
    is_shown = getattr(view, f"use_translate_{where}") and language in languages()
    return translate_into(text, language) if is_shown else str(text)


def translate_report(text: str) -> str:
    """Return an English text for a report, in the language that Blender shows."""
    return translate(text, "reports")


def translate_into(text: str, language: str) -> str:
    """Return an English text in a language that has a file, by Blender's name of the language."""
    return translate_by(_texts_of(language), text)


def translate_by(texts: Mapping[str, str], text: str) -> str:
    """Return an English text with translated templates; those that are unknown stay English.

    Args:
        texts: Translations by English template; empty if there is none yet.
        text: A message, whose values are translated if they are messages, or a fixed sentence.
    """
    message = Message(text)
    template = texts.get(message.template) or message.template
    if not message.values:
        return template
    values = {
        name: translate_by(texts, value) if isinstance(value, Message) else value
        for name, value in message.values.items()
    }
    return template.format_map(values)


@cache
def _texts_of(language: str) -> Mapping[str, str]:
    """Return the translations of a language by English text; of sentences before labels."""
    items = sorted(translations_of(language).items(), key=lambda item: item[0][0] == SENTENCE)
    return {english: translation for (_, english), translation in items}


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
    for cached in (_texts_of, translations_of, languages):
        cached.cache_clear()
