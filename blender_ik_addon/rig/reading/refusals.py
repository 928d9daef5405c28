"""Errors of chains in a scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import bpy

from ...core import IKError, InvalidChainError
from ...core.model.message import Message, joined

# Most names in one list.
MAX_NAMES = 3
LINKED = "This armature is linked: make a library override of it first."
PROTECTED = (
    "The library override of this armature cannot be edited: make it editable in the Outliner"
    " first."
)


class RigError(IKError):
    """A chain's bones, target or pole cannot be used; the text says what to do next."""


@dataclass(frozen=True)
class Refused:
    """Reason why a chain is not solved.

    Attributes:
        text: Message for the user; it says what to do next.
    """

    text: Message


def library_problem(armature_object: bpy.types.Object) -> str:
    """Return why an armature object from a library cannot be posed, in words; empty if it can."""
    if not armature_object.is_editable:
        return LINKED
    # Blender makes such overrides for data that users did not choose, and scripts make them by
    # default. It ignores bulk writes to them without an error.
    override = armature_object.override_library
    return PROTECTED if override is not None and override.is_system_override else ""


def scaled_flat() -> RigError:
    """Return the error of an armature object that is scaled flat."""
    return RigError("The armature object has a scale of zero: give it a scale above zero.")


def bone_scaled_flat(body: str) -> RigError:
    """Return the error of a bone, of a "chain" or "tree", that is scaled flat."""
    return RigError(
        "A bone of the {body} has a scale of zero: give it a scale above zero.", body=body
    )


def no_length(name: str) -> InvalidChainError:
    """Return the error of a bone without length."""
    return InvalidChainError(
        "Bone '{name}' has a length of zero, so it cannot be turned: check its scale and location,"
        " or leave it out of the chain.",
        name=name,
    )


def listed(names: Sequence[str]) -> str:
    """Return names in one line, only the first if there are many."""
    shown, more = joined(", ", names[:MAX_NAMES]), len(names) - MAX_NAMES
    return Message("{shown} and {more} more", shown=shown, more=more) if more > 0 else shown
