"""The same of chains of one armature object that share bones or stand on each other."""

from __future__ import annotations

from tests.blender.kept.kept_kinds import Kind

BONDS = {
    "tree, one tip inherits no rotation": Kind(
        "Was solved as if it did, again and again, and now as it is: another pose that reaches."
    )
}
