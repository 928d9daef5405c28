"""Translation of sentences that contain names and numbers.

The code makes all sentences in English, without knowing who reads them. Where a sentence is shown,
the template that it was made from is found again, and its translation takes the same values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from string import Formatter

from .catalogue import SENTENCE, Translations, translations_of

# Separators of sentences, and of their parts.
_SEPARATORS = re.compile(r"(; |\. |: |, | · )")
_FULL_STOPS = ".。"
# Placeholders of one label of the interface and of a list of labels, translated as labels are.
_LABEL, _LABELS = "label", "labels"
# Number of cached sentences: each redraw translates all statuses that it shows.
_CACHE_SIZE = 256


@dataclass(frozen=True)
class Template:
    """A kind of sentence: fixed text with placeholders.

    Attributes:
        expression: Regular expression of the English sentences, with a group for each placeholder.
        translation: The sentence in the other language, with the placeholders in braces.
        names: Placeholders in quotes. Their values are names that users have chosen, which stay.
        prefix: The text that all of these sentences begin with.
        suffix: The text that all of these sentences end with.
        size: Number of fixed characters.
    """

    expression: str
    translation: str
    names: frozenset[str]
    prefix: str
    suffix: str
    size: int

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled at its first use, as most are never used."""
        return re.compile(self.expression, re.DOTALL)

    def values(self, text: str) -> dict[str, str] | None:
        """Return the values of the placeholders in a text; None for another kind of sentence."""
        # Faster than the pattern.
        if not text.startswith(self.prefix) or not text.endswith(self.suffix):
            return None
        match = self.pattern.fullmatch(text)
        return None if match is None else match.groupdict()


@dataclass(frozen=True)
class SentenceTranslator:
    """All translations of one language.

    Attributes:
        labels: Translations of labels of the interface.
        fixed: Translations of sentences without placeholders.
        templates: Sentences with placeholders, those with most fixed characters first.
    """

    labels: dict[str, str]
    fixed: dict[str, str]
    templates: tuple[Template, ...]

    def translate(self, text: str) -> str:
        """Return a text in this language, as a whole or part by part; unknown parts stay."""
        pieces = _SEPARATORS.split(text)
        parts: list[str] = []
        start = 0
        while start < len(pieces):
            for end in range(len(pieces), start, -2):
                part = self._translate_part("".join(pieces[start:end]))
                if part is not None:
                    break
            else:
                part, end = pieces[start], start + 1
            parts += [part, *pieces[end : end + 1]]
            start = end + 1
        return "".join(parts)

    def _translate_part(self, text: str) -> str | None:
        """Return one sentence, with or without its full stop; None if it is unknown."""
        part = self._translate_sentence(text)
        if part is None and (sentence := self._translate_sentence(f"{text}.")) is not None:
            part = sentence.rstrip(_FULL_STOPS)
        return part

    def _translate_sentence(self, text: str) -> str | None:
        """Return one sentence in this language; None if it is unknown."""
        if text in self.fixed:
            return self.fixed[text]
        for template in self.templates:
            values = template.values(text)
            if values is not None:
                shown = {name: self._value_text(template, name, values[name]) for name in values}
                return template.translation.format_map(shown)
        return None

    def _value_text(self, template: Template, name: str, value: str) -> str:
        if name in (_LABEL, _LABELS):
            return ", ".join(self.labels.get(label, label) for label in value.split(", "))
        return value if name in template.names else self.translate(value)


@lru_cache(maxsize=_CACHE_SIZE)
def translate_into(sentence: str, language: str) -> str:
    """Return an English sentence in a language that has a file.

    Args:
        sentence: One sentence, or several joined. Names and numbers in it stay.
        language: Blender's name of the language.
    """
    return translator_of(language).translate(sentence)


@cache
def translator_of(language: str) -> SentenceTranslator:
    """Return the translator for a language; cached."""
    return make_translator(translations_of(language))


def make_translator(translations: Translations) -> SentenceTranslator:
    """Sort translations into labels, fixed sentences and templates."""
    labels, fixed, templates = {}, {}, []
    for (context, english), translation in translations.items():
        if not translation:
            continue
        if context != SENTENCE:
            labels[english] = translation
        elif placeholders(english):
            templates.append(_template(english, translation))
        else:
            fixed[english.format()] = translation.format()
    templates.sort(key=lambda template: -template.size)
    return SentenceTranslator(labels, fixed, tuple(templates))


def placeholders(text: str) -> set[str]:
    """Return the names in braces of a template."""
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def _placeholder_pattern(name: str, after: str, *, is_first: bool) -> str:
    """Return the regular expression for the values of a placeholder."""
    if name == _LABEL:
        return "[^,;:]+"
    if is_first:
        # No separators: the value must not contain another sentence before this one.
        return "[^;:]+?"
    # A value may be a list with commas, so one before a comma extends to the last comma.
    return ".+" if after.startswith(",") else ".+?"


def _template(english: str, translation: str) -> Template:
    parts = list(Formatter().parse(english))
    expression, seen, quoted = "", set[str](), set[str]()
    following = [*(literal for literal, *_ in parts[1:]), ""]
    for (literal, name, _, _), after in zip(parts, following, strict=True):
        expression += re.escape(literal)
        if name is None:
            continue
        pattern = _placeholder_pattern(name, after, is_first=not expression)
        expression += f"(?P={name})" if name in seen else f"(?P<{name}>{pattern})"
        seen.add(name)
        if literal.endswith("'") and after.startswith("'"):
            quoted.add(name)
    return Template(
        expression,
        translation,
        frozenset(quoted),
        prefix=parts[0][0],
        suffix="" if parts[-1][1] is not None else parts[-1][0],
        size=sum(len(literal) for literal, *_ in parts),
    )
