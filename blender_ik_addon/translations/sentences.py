"""Sentences with names and numbers in them, said in another language.

They are made in English, deep inside, where nobody knows who reads them. Where they are shown, the
template that a sentence was made from is found again, and says it with the same names and numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from string import Formatter

from .catalogue import SENTENCE, Words, words_of

# What joins sentences, and their parts.
_JOINTS = re.compile(r"(; |\. |: |, | · )")
_STOPS = ".。"
# Names that the interface shows are said as it shows them: one, or a list.
_LABEL, _LABELS = "label", "labels"
# A status that is shown is asked for at each redraw.
_REMEMBERED = 256


@dataclass(frozen=True)
class Template:
    """One kind of sentence.

    Attributes:
        expression: What matches the English ones, with a group for each placeholder.
        says: The same in the other language, with the placeholders in braces.
        names: Placeholders in quotes: names that people have given, which stay.
        begins: What all of them begin with.
        ends: What all of them end with.
        size: How many characters are fixed.
    """

    expression: str
    says: str
    names: frozenset[str]
    begins: str
    ends: str
    size: int

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled when it is first needed: most never are."""
        return re.compile(self.expression, re.DOTALL)

    def values(self, text: str) -> dict[str, str] | None:
        """Return what stands for the placeholders in a text; None for another kind of sentence."""
        # Sooner than to try the pattern.
        if not text.startswith(self.begins) or not text.endswith(self.ends):
            return None
        match = self.pattern.fullmatch(text)
        return None if match is None else match.groupdict()


@dataclass(frozen=True)
class Speech:
    """What sentences can be said in a language.

    Attributes:
        labels: What the interface shows.
        fixed: Sentences without placeholders.
        templates: Those with some, the most particular first.
    """

    labels: dict[str, str]
    fixed: dict[str, str]
    templates: tuple[Template, ...]

    def translated(self, text: str) -> str:
        """Return a text in this language: as a whole, else part by part; unknown parts stay."""
        pieces = _JOINTS.split(text)
        said: list[str] = []
        start = 0
        while start < len(pieces):
            for end in range(len(pieces), start, -2):
                whole = self._part("".join(pieces[start:end]))
                if whole is not None:
                    break
            else:
                whole, end = pieces[start], start + 1
            said += [whole, *pieces[end : end + 1]]
            start = end + 1
        return "".join(said)

    def _part(self, text: str) -> str | None:
        """Return one sentence, with or without its full stop; None if it is unknown."""
        whole = self._whole(text)
        if whole is None and (stopped := self._whole(f"{text}.")) is not None:
            whole = stopped.rstrip(_STOPS)
        return whole

    def _whole(self, text: str) -> str | None:
        """Return one sentence in this language; None if it is unknown."""
        if text in self.fixed:
            return self.fixed[text]
        for template in self.templates:
            values = template.values(text)
            if values is not None:
                told = {name: self._value(template, name, values[name]) for name in values}
                return template.says.format_map(told)
        return None

    def _value(self, template: Template, name: str, value: str) -> str:
        if name in (_LABEL, _LABELS):
            return ", ".join(self.labels.get(each, each) for each in value.split(", "))
        return value if name in template.names else self.translated(value)


@lru_cache(maxsize=_REMEMBERED)
def translated(sentence: str, language: str) -> str:
    """Return an English sentence in a language that there is a file for.

    Args:
        sentence: One, or several joined; names and numbers in it stay.
        language: As Blender calls it.
    """
    return speech_of(language).translated(sentence)


@cache
def speech_of(language: str) -> Speech:
    """Return what can be said in a language; made once."""
    return make_speech(words_of(language))


def make_speech(words: Words) -> Speech:
    """Return what sentences can be said with some words."""
    labels, fixed, templates = {}, {}, []
    for (context, english), says in words.items():
        if not says:
            continue
        if context != SENTENCE:
            labels[english] = says
        elif placeholders(english):
            templates.append(_template(english, says))
        else:
            fixed[english.format()] = says.format()
    templates.sort(key=lambda template: -template.size)
    return Speech(labels, fixed, tuple(templates))


def placeholders(text: str) -> set[str]:
    """Return the names in braces of a template."""
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def _some(name: str, after: str, *, is_first: bool) -> str:
    """Return what may stand for a placeholder, as an expression."""
    if name == _LABEL:
        return "[^,;:]+"
    if is_first:
        # Not another sentence that stands before.
        return "[^;:]+?"
    # A list has commas in it, so what a comma follows ends at the last one.
    return ".+" if after.startswith(",") else ".+?"


def _template(english: str, says: str) -> Template:
    parts = list(Formatter().parse(english))
    expression, seen, quoted = "", set[str](), set[str]()
    following = [*(literal for literal, *_ in parts[1:]), ""]
    for (literal, name, _, _), after in zip(parts, following, strict=True):
        expression += re.escape(literal)
        if name is None:
            continue
        some = _some(name, after, is_first=not expression)
        expression += f"(?P={name})" if name in seen else f"(?P<{name}>{some})"
        seen.add(name)
        if literal.endswith("'") and after.startswith("'"):
            quoted.add(name)
    return Template(
        expression,
        says,
        frozenset(quoted),
        begins=parts[0][0],
        ends="" if parts[-1][1] is not None else parts[-1][0],
        size=sum(len(literal) for literal, *_ in parts),
    )
