"""What can be wrong with a chain in a scene."""

from __future__ import annotations

from ..core import IKError


class RigError(IKError):
    """A chain's bones, target or pole cannot be used; the text says what to do next."""
