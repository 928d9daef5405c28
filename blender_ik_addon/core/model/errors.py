"""Errors in the input of a solve. An unreachable target is not an error."""

from __future__ import annotations

from .message import Message


class IKError(ValueError):
    """The base of every error of this project; its text is one sentence that says what to do.

    Attributes:
        message: The text with its template and values, which ``str`` of the error does not have.
    """

    def __init__(self, template: str, /, **values: object) -> None:
        self.message = Message(template, **values)
        super().__init__(self.message)


class InvalidChainError(IKError):
    """A chain of a wrong shape, with numbers that are not finite, or a segment without length."""


class InvalidGoalError(IKError):
    """A goal with a position or rotation of a wrong shape, or numbers that are not finite."""


class InvalidOptionError(IKError):
    """An option outside its range."""


class SolverMismatchError(IKError):
    """A solver that does not apply to a chain of this length."""
