"""The limbs of a character, found by the names and the hierarchy of its bones.

Derived for this project; ``docs/characters.md`` lists the results for the tested rigs.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...core.algebra.arithmetic import Flags
from ..reading.skeleton import Skeleton
from .body import LOWER_ARM, LOWER_LEG, Body
from .bone_names import BodyPart

# Minimum slope of a foot that points down at rest, as a share of its length, to be a hock: the leg
# bends three bones and stands on its toes. Rigify's human and bird have 0.53, its cat, wolf and
# horse over 0.96.
MIN_HOCK_SLOPE = 0.75
# Minimum slope of an upright trunk, as a share of its length; below it the body is on four legs.
MIN_UPRIGHT = 0.5
# Minimum numbers of bones: of tails and of the only spider leg of a side; of other limbs.
MIN_LONG_LIMB, MIN_LIMB = 3, 2
FRONT_LEG = "Front Leg"
# Share of the vertical axis in the directions of elbows and knees.
VERTICAL_SHARE = 0.1


class LimbKind(enum.StrEnum):
    """What a limb is; the value is for people."""

    ARM = "Arm"
    LEG = "Leg"
    SPIDER_LEG = "Spider Leg"
    FINGER = "Finger"
    SPINE = "Spine"
    NECK = "Neck"
    TAIL = "Tail"
    WING = "Wing"


@dataclass(frozen=True, slots=True)
class Limb:
    """A limb.

    Attributes:
        kind: Kind of limb.
        name: Name for people, with the side: "Arm.L".
        bones: Names of the bones that bend, root first.
        end: Name of the child of the last bone that takes the target's rotation: a hand, foot or
            head; empty without.
        bends: Direction of elbow or knee, armature space; zero if the kind has none.
        is_sideways: Whether its bones do not point to the next ones, as from other programs.
        is_by_head: Whether it reaches with the head of its end, or of its last bone: it is
            sideways, or the tail before its end is elsewhere, as importers leave it beside twist
            bones.
        is_laid_out: Whether its body lies in one direction at rest, ``Body.is_laid_out``.
    """

    kind: LimbKind
    name: str
    bones: tuple[str, ...]
    end: str = ""
    bends: tuple[float, float, float] = (0.0, 0.0, 0.0)
    is_sideways: bool = False
    is_by_head: bool = False
    is_laid_out: bool = False


def find_limbs(skeleton: Skeleton, is_free: Flags) -> list[Limb]:
    """Return the limbs of a skeleton, in the order of their first bones.

    ``is_free`` tells which bones chains may drive, shape (n,).
    """
    body = Body(skeleton, is_free)
    thighs = [bone for bone in body.all_of(BodyPart.THIGH) if not _continues_leg(body, bone)]
    legs = [bone for bone in thighs if not _is_front(body, bone)]
    front_legs = [bone for bone in thighs if _is_front(body, bone)]
    arms = body.all_of(BodyPart.UPPER_ARM) + front_legs
    chest = _chest(body, arms)
    hips = body.shared_root(legs)
    tails = _tail_starts(body, hips, chest)
    if hips is None and tails:
        hips = body.parent(tails[0])
    spine = _spine(body, hips, chest)
    is_lying = hips is not None and chest is not None and body.height(hips, chest) < MIN_UPRIGHT
    is_lying = is_lying and not body.is_laid_out
    limbs = [
        *_legs(body, legs, "Hind Leg" if is_lying and arms else "Leg"),
        *(_legs(body, arms, FRONT_LEG) if is_lying or front_legs else _arms(body, arms)),
        *_limb(body, LimbKind.SPINE, "Spine", spine),
        *_neck(body, chest),
        *_tails(body, tails),
        *_wings(body),
        *_spider_legs(body),
        *_fingers(body),
    ]
    return sorted(limbs, key=lambda limb: skeleton.index[limb.bones[0]])


def is_end(skeleton: Skeleton, name: str) -> bool:
    """Return whether a bone is a hand or foot, to be rotated rather than bent."""
    body = Body(skeleton, np.ones(len(skeleton.names), dtype=np.bool_))
    return body.parts[skeleton.index[name]] in (BodyPart.HAND, BodyPart.FOOT)


def _limb(
    body: Body, kind: LimbKind, name: str, run: list[int], end: int | None = None
) -> Iterator[Limb]:
    """Yield a limb of a run of bones if there are enough to bend."""
    if len(run) >= MIN_LIMB:
        names, ends = body.skeleton.names, [] if end is None else [end]
        is_sideways = body.is_sideways([*run, *ends])
        end_name = names[end] if end is not None and body.usable[end] else ""
        is_apart = bool(end_name) and body.skeleton.child_at_tail(run[-1]) != end
        yield Limb(
            kind,
            f"{name}{body.side(run[0]).value}",
            tuple(names[bone] for bone in run),
            end_name,
            _bends(body, kind, name),
            is_sideways,
            is_sideways or is_apart,
            body.is_laid_out,
        )


def _bends(body: Body, kind: LimbKind, name: str) -> tuple[float, float, float]:
    """Return the direction of elbow or knee from the line of a limb, armature space."""
    up, forward = body.up, body.forward
    if kind is LimbKind.SPIDER_LEG:
        direction = up
    elif kind is LimbKind.ARM or name == FRONT_LEG:
        # The elbow of an arm that points forward bends down, the knee of such a leg up.
        direction = -forward - VERTICAL_SHARE * up * forward.any()
    elif kind is LimbKind.LEG:
        direction = forward + VERTICAL_SHARE * up * forward.any()
    else:
        direction = np.zeros(3)
    x, y, z = direction.tolist()
    return x, y, z


def _is_front(body: Body, bone: int) -> bool:
    return "front" in body.names[bone].words


def _continues_leg(body: Body, bone: int) -> bool:
    """Return whether a leg begins above its thigh, as in spiders."""
    parent = body.parent(bone)
    is_leg = parent >= 0 and bool(body.usable[parent]) and body.parts[parent] is BodyPart.LEG
    return is_leg and body.side(parent) is body.side(bone)


def _arms(body: Body, starts: list[int]) -> Iterator[Limb]:
    for start in starts:
        lower, hand = body.lower_half(start, *LOWER_ARM)
        if lower is not None and not _is_split(body, start, lower, hand):
            yield from _limb(body, LimbKind.ARM, "Arm", [start, lower], hand)


def _legs(body: Body, starts: list[int], name: str) -> Iterator[Limb]:
    for start in starts:
        lower, end = body.lower_half(start, *LOWER_LEG)
        if lower is None or _is_split(body, start, lower, end):
            continue
        run = [start, lower]
        toe = None if end is None else body.skeleton.child_at_tail(end)
        if end is not None and toe is not None:
            is_steep = -body.skeleton.rest[end, :3, 1] @ body.up > MIN_HOCK_SLOPE
            if is_steep and not body.is_laid_out:
                run, end = [*run, end], toe
        yield from _limb(body, LimbKind.LEG, name, run, end)


def _is_split(body: Body, start: int, lower: int, end: int | None) -> bool:
    """Return whether a half of a limb is more than one bone in line, which a chain would bend.

    For example Rigify's deforming bones, ``DEF-thigh.L`` and ``DEF-thigh.L.001``.
    """
    children = body.children[lower] if end is None else []
    pairs = [(start, body.parent(start)), *((lower, bone) for bone in children)]
    return any(other >= 0 and body.is_alike(bone, other) for bone, other in pairs)


def _chest(body: Body, arms: list[int]) -> int | None:
    """Return the bone that carries arms or shoulders, otherwise the neck; None without a chest."""
    chest = body.shared_root(arms or body.all_of(BodyPart.SHOULDER))
    if chest is not None:
        return chest
    # Dragons and birds may only have wings.
    parents = [body.parent(neck) for neck in body.first_of(BodyPart.NECK) if body.is_trunk(neck)]
    return next((bone for bone in parents if bone >= 0), None)


def _spine(body: Body, hips: int | None, chest: int | None) -> list[int]:
    """Return the bones from the hips, which carry the legs, to the chest, without the hips."""
    if chest is None:
        return []
    path = body.skeleton.ancestors(chest)[::-1]
    if hips in path:
        path = path[path.index(hips) + 1 :]
    else:
        path = path[next((i for i, bone in enumerate(path) if body.is_trunk(bone)), len(path)) :]
    return path if all(body.usable[bone] for bone in path) else []


def _neck(body: Body, chest: int | None) -> Iterator[Limb]:
    """Yield the run of bones above the chest, with the head as its end."""
    starts = [] if chest is None else [i for i in body.children[chest] if body.is_trunk(i)]
    # Take the longest run: a horse has a chest bone there too, and some programs sort by name.
    run = max((body.run(start, body.is_trunk) for start in starts), key=len, default=[])
    if run:
        heads = [i for i, bone in enumerate(run) if body.parts[bone] is BodyPart.HEAD]
        last = heads[0] if heads else len(run) - 1
        yield from _limb(body, LimbKind.NECK, "Neck", run[:last], run[last])


def _tail_starts(body: Body, hips: int | None, chest: int | None) -> list[int]:
    """Return the first bones of tails: by name, or on branches of the path to the chest."""
    end = hips if chest is None else chest
    path = [] if end is None else body.skeleton.ancestors(end)
    branches = [
        child
        for bone in path[1:]
        for child in body.children[bone]
        if child not in path and body.is_trunk(child)
    ]
    return body.first_of(BodyPart.TAIL) + branches


def _tails(body: Body, starts: list[int]) -> Iterator[Limb]:
    for start in starts:
        run = body.run_of(start)
        if len(run) >= MIN_LONG_LIMB:
            yield from _limb(body, LimbKind.TAIL, "Tail", run)


def _wings(body: Body) -> Iterator[Limb]:
    for start in body.first_of(BodyPart.WING):
        run = body.run_of(start)
        yield from _limb(body, LimbKind.WING, _title(body, start), run)


def _spider_legs(body: Body) -> Iterator[Limb]:
    """Yield legs without thighs in their names, numbered from the first on.

    A run of two bones is a leg only if its side has another run of two or more.
    """
    runs = [body.run(start, lambda _bone: True) for start in body.first_of(BodyPart.LEG)]
    sides = [body.side(run[0]) for run in runs if len(run) >= MIN_LIMB]
    counts = dict.fromkeys(sides, 0)
    for run in runs:
        side = body.side(run[0])
        if len(run) >= (MIN_LIMB if sides.count(side) > 1 else MIN_LONG_LIMB):
            counts[side] += 1
            yield from _limb(body, LimbKind.SPIDER_LEG, f"Leg {counts[side]}", run)


def _fingers(body: Body) -> Iterator[Limb]:
    """Yield fingers, and toes with names of fingers."""
    for start in body.first_of(BodyPart.FINGER):
        above = {body.parts[bone] for bone in body.skeleton.ancestors(start)}
        is_toe = not above.isdisjoint((BodyPart.FOOT, BodyPart.TOE))
        name = f"{_title(body, start)}{' Toe' if is_toe else ''}"
        yield from _limb(body, LimbKind.FINGER, name, body.run_of(start))


def _title(body: Body, bone: int) -> str:
    """Return the title of a limb from a bone's name, for people."""
    words = [word for word in body.names[bone].words if len(word) > 1 and word != "hand"]
    return " ".join(words).title()
