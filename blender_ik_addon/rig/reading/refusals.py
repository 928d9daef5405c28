"""What can be wrong with a chain in a scene."""

from __future__ import annotations

from ...core import IKError, InvalidChainError


class RigError(IKError):
    """A chain's bones, target or pole cannot be used; the text says what to do next."""


def scaled_flat() -> RigError:
    """Return what to say of an armature object that is scaled flat."""
    return RigError("The armature object has a scale of zero: give it a scale above zero.")


def no_length(name: str) -> InvalidChainError:
    """Return what to say of a bone without length."""
    return InvalidChainError(
        f"Bone '{name}' has no length to turn:"
        " check its scale and location, or leave it out of the chain."
    )
