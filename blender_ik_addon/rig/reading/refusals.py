"""What can be wrong with a chain in a scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...core import IKError, InvalidChainError

# At most so many names are listed.
MOST_NAMES = 3


class RigError(IKError):
    """A chain's bones, target or pole cannot be used; the text says what to do next."""


@dataclass(frozen=True)
class Refused:
    """Why a chain is not solved.

    Attributes:
        text: For people; it says what to do next.
    """

    text: str


def scaled_flat() -> RigError:
    """Return what to say of an armature object that is scaled flat."""
    return RigError("The armature object has a scale of zero: give it a scale above zero.")


def bone_scaled_flat(body: str) -> RigError:
    """Return what to say of a bone of a "chain" or "tree" that is scaled flat."""
    return RigError(f"A bone of the {body} has a scale of zero: give it a scale above zero.")


def no_length(name: str) -> InvalidChainError:
    """Return what to say of a bone without length."""
    return InvalidChainError(
        f"Bone '{name}' has no length to turn:"
        " check its scale and location, or leave it out of the chain."
    )


def listed(names: Sequence[str]) -> str:
    """Return names in one line, the first few of many."""
    shown, more = ", ".join(names[:MOST_NAMES]), len(names) - MOST_NAMES
    return f"{shown} and {more} more" if more > 0 else shown
