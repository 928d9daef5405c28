"""Texts for users: templates with values, so that a translation can take the same values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

WORD_CHOICES = {
    "word": ("target", "pole"),
    "way": ("lengthen", "shorten"),
    "body": ("chain", "tree"),
}
"""Placeholders with a fixed list of words: each word gives a separate template, because other
languages inflect the words around it."""


class Message(str):
    """An English text that remembers its template and its values.

    String methods return plain strings, which cannot be translated; ``joined`` keeps messages.

    Attributes:
        template: The text with placeholders in braces; the text itself if there are no values.
        values: The values by placeholder. Messages among them are translated too. Others stay,
            for example names that users have chosen.
    """

    template: str
    values: Mapping[str, object]

    def __new__(cls, template: str, /, **values: object) -> Message:
        """Return a message; a template that is a message already is returned as it is."""
        if isinstance(template, Message):
            assert not values, "a message has its values already"
            return template
        for name in WORD_CHOICES:
            if name in values:
                template = template.replace(f"{{{name}}}", str(values.pop(name)))
        message = super().__new__(cls, template.format_map(values) if values else template)
        message.template, message.values = template, values
        return message

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, object]]:
        """Return the arguments of ``__new__`` that make a copy, for example from a pickle."""
        return (self.template,), dict(self.values)


def joined(separator: str, parts: Iterable[str]) -> Message:
    """Return texts in one line; the messages among them are still translated one by one."""
    texts = [*parts]
    if len(texts) == 1 and isinstance(texts[0], Message):
        return texts[0]
    values = {f"part{number}": text for number, text in enumerate(texts)}
    return Message(separator.join([f"{{{name}}}" for name in values]), **values)
