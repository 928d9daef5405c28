"""Errors in the input of a solve. An unreachable target is not an error."""

from __future__ import annotations


class IKError(ValueError):
    """Base of every error of this project; its text is one sentence that says what to do next."""


class InvalidChainError(IKError):
    """The chain cannot be solved: wrong shape, not finite, or a segment without length."""


class InvalidGoalError(IKError):
    """The goal is not usable: a position or rotation of the wrong shape or not finite."""


class InvalidOptionError(IKError):
    """An option is outside its range."""


class SolverMismatchError(IKError):
    """The solver does not apply to a chain of this length."""
