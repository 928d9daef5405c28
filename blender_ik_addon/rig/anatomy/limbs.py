"""The limbs of a character, found by the names of its bones and by how they hang together.

Derived for this project; ``docs/characters.md`` lists what it finds on the rigs it is tested with.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...core.algebra.arithmetic import Flags
from ..reading.skeleton import Skeleton
from .body import Body
from .bone_names import Part, read

# A foot that points down by this share of its length at rest is a hock: the leg bends three bones
# and stands on its toes. Rigify's human and bird have 0.53, its cat, wolf and horse over 0.96.
STEEP = 0.75
# A trunk that rises by less than this share of its length lies: the body goes on four legs.
LYING = 0.5
# The fewest bones of tails, wings and a leg of one by itself, and of what bends otherwise.
LONG, SHORT = 3, 2
FRONT_LEG = "Front Leg"
# The share of up and down in where elbows and knees belong.
ASIDE = 0.1


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
        kind: What it is.
        name: For people, with the side: "Arm.L".
        bones: Names of the bones that bend, root first.
        end: Name of the bone below the last that takes the target's rotation, a hand, foot or
            head; empty without.
        bends: Where elbow or knee belongs, armature space; zero where its kind does not tell.
        is_sideways: Its bones do not point to the next ones, as other programs leave them.
        is_by_head: It reaches with the head of its end, or of the last of its bones: it is
            sideways, or the tail before its end is elsewhere, as importers leave it beside twist
            bones.
        is_laid_out: Its body lies along one way at rest, ``Body.is_laid_out``.
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

    Args:
        skeleton: The bones.
        is_free: Which bones chains may drive, shape (n,).
    """
    body = Body(skeleton, is_free)
    thighs = [bone for bone in body.all_of(Part.THIGH) if not _goes_on(body, bone)]
    legs = [bone for bone in thighs if not _is_front(body, bone)]
    fronts = [bone for bone in thighs if _is_front(body, bone)]
    arms = body.all_of(Part.UPPER_ARM) + fronts
    chest = _chest(body, arms)
    hips = body.shared_root(legs)
    tails = _tail_starts(body, hips, chest)
    if hips is None and tails:
        hips = body.parent(tails[0])
    spine = _spine(body, hips, chest)
    lies = hips is not None and chest is not None and body.height(hips, chest) < LYING
    lies = lies and not body.is_laid_out
    found = [
        *_legs(body, legs, "Hind Leg" if lies and arms else "Leg"),
        *(_legs(body, arms, FRONT_LEG) if lies or fronts else _arms(body, arms)),
        *_limb(body, LimbKind.SPINE, "Spine", spine),
        *_neck(body, chest),
        *_tails(body, tails),
        *_wings(body),
        *_spider_legs(body),
        *_fingers(body),
    ]
    return sorted(found, key=lambda limb: skeleton.index[limb.bones[0]])


def is_end(name: str) -> bool:
    """Tell by its name whether a bone is a hand or foot, which is turned rather than bent."""
    return read(name).part in (Part.HAND, Part.FOOT)


def _limb(
    body: Body, kind: LimbKind, name: str, run: list[int], end: int | None = None
) -> Iterator[Limb]:
    """Yield a limb of these bones if they are enough to bend."""
    if len(run) >= SHORT:
        names, ends = body.skeleton.names, [] if end is None else [end]
        is_sideways = body.is_sideways([*run, *ends])
        turned = names[end] if end is not None and body.usable[end] else ""
        is_apart = bool(turned) and body.skeleton.child_at_tail(run[-1]) != end
        yield Limb(
            kind,
            f"{name}{body.side(run[0]).value}",
            tuple(names[bone] for bone in run),
            turned,
            _bends(body, kind, name),
            is_sideways,
            is_sideways or is_apart,
            body.is_laid_out,
        )


def _bends(body: Body, kind: LimbKind, name: str) -> tuple[float, float, float]:
    """Return where elbow or knee belongs, from the line of a limb in any direction."""
    up, forward = body.up, body.forward
    if kind is LimbKind.SPIDER_LEG:
        way = up
    elif kind is LimbKind.ARM or name == FRONT_LEG:
        # Arms that point forward bend down, legs that do up.
        way = -forward - ASIDE * up * forward.any()
    elif kind is LimbKind.LEG:
        way = forward + ASIDE * up * forward.any()
    else:
        way = np.zeros(3)
    x, y, z = way.tolist()
    return x, y, z


def _is_front(body: Body, bone: int) -> bool:
    return "front" in body.names[bone].words


def _goes_on(body: Body, bone: int) -> bool:
    """Return whether a leg begins above its thigh, as those of spiders do."""
    parent = body.parent(bone)
    is_leg = parent >= 0 and bool(body.usable[parent]) and body.parts[parent] is Part.LEG
    return is_leg and body.side(parent) is body.side(bone)


def _arms(body: Body, starts: list[int]) -> Iterator[Limb]:
    for start in starts:
        lower = body.child_of_part(start, (Part.FOREARM,))
        hand = None if lower is None else body.child_of_part(lower, (Part.HAND,))
        if lower is not None and not _is_split(body, start, lower, hand):
            yield from _limb(body, LimbKind.ARM, "Arm", [start, lower], hand)


def _legs(body: Body, starts: list[int], name: str) -> Iterator[Limb]:
    for start in starts:
        lower = body.child_of_part(start, (Part.SHIN, Part.FOREARM))
        end = None if lower is None else body.child_of_part(lower, (Part.FOOT, Part.HAND))
        if lower is None or _is_split(body, start, lower, end):
            continue
        run = [start, lower]
        toe = None if end is None else body.skeleton.child_at_tail(end)
        if end is not None and toe is not None:
            is_steep = -body.skeleton.rest[end, :3, 1] @ body.up > STEEP
            if is_steep and not body.is_laid_out:
                run, end = [*run, end], toe
        yield from _limb(body, LimbKind.LEG, name, run, end)


def _is_split(body: Body, start: int, lower: int, end: int | None) -> bool:
    """Return whether the halves of a limb are several bones in line: between two a chain would bend.

    Rigify's deforming bones are so, ``DEF-thigh.L`` and ``DEF-thigh.L.001``.
    """
    below = body.children[lower] if end is None else []
    pairs = [(start, body.parent(start)), *((lower, bone) for bone in below)]
    return any(other >= 0 and body.is_alike(bone, other) for bone, other in pairs)


def _chest(body: Body, arms: list[int]) -> int | None:
    """Return what carries arms or shoulders, without these the neck; None for no chest."""
    chest = body.shared_root(arms or body.all_of(Part.SHOULDER))
    if chest is not None:
        return chest
    # Dragons and birds may have wings only.
    below = [body.parent(neck) for neck in body.first_of(Part.NECK) if body.is_trunk(neck)]
    return next((bone for bone in below if bone >= 0), None)


def _spine(body: Body, hips: int | None, chest: int | None) -> list[int]:
    """Return the bones between hips, which carry the legs, and chest, the last of them."""
    if chest is None:
        return []
    line = body.skeleton.ancestors(chest)[::-1]
    if hips in line:
        line = line[line.index(hips) + 1 :]
    else:
        line = line[next((i for i, bone in enumerate(line) if body.is_trunk(bone)), len(line)) :]
    return line if all(body.usable[bone] for bone in line) else []


def _neck(body: Body, chest: int | None) -> Iterator[Limb]:
    """Yield what stands on the chest, but for the head at its end."""
    starts = [] if chest is None else [i for i in body.children[chest] if body.is_trunk(i)]
    # A horse has a bone of the chest there as well; files of other programs sort bones by names.
    run = max((body.run(start, body.is_trunk) for start in starts), key=len, default=[])
    if run:
        heads = [i for i, bone in enumerate(run) if body.parts[bone] is Part.HEAD]
        last = heads[0] if heads else len(run) - 1
        yield from _limb(body, LimbKind.NECK, "Neck", run[:last], run[last])


def _tail_starts(body: Body, hips: int | None, chest: int | None) -> list[int]:
    """Return where tails begin: by name, or as a spine does that leaves the way to the chest."""
    end = hips if chest is None else chest
    line = [] if end is None else body.skeleton.ancestors(end)
    off_line = [
        child
        for bone in line[1:]
        for child in body.children[bone]
        if child not in line and body.is_trunk(child)
    ]
    return body.first_of(Part.TAIL) + off_line


def _tails(body: Body, starts: list[int]) -> Iterator[Limb]:
    for start in starts:
        run = body.run_of(start)
        if len(run) >= LONG:
            yield from _limb(body, LimbKind.TAIL, "Tail", run)


def _wings(body: Body) -> Iterator[Limb]:
    for start in body.first_of(Part.WING):
        run = body.run_of(start)
        yield from _limb(body, LimbKind.WING, _title(body, start), run)


def _spider_legs(body: Body) -> Iterator[Limb]:
    """Yield legs whose names tell no thighs, in pairs from the first on.

    Two bones are a leg where a side has several of them: elsewhere they may be anything.
    """
    runs = [body.run(start, lambda _bone: True) for start in body.first_of(Part.LEG)]
    sides = [body.side(run[0]) for run in runs if len(run) >= SHORT]
    counts = dict.fromkeys(sides, 0)
    for run in runs:
        side = body.side(run[0])
        if len(run) >= (SHORT if sides.count(side) > 1 else LONG):
            counts[side] += 1
            yield from _limb(body, LimbKind.SPIDER_LEG, f"Leg {counts[side]}", run)


def _fingers(body: Body) -> Iterator[Limb]:
    """Yield fingers, and toes that have fingers' names."""
    for start in body.first_of(Part.FINGER):
        above = {body.parts[bone] for bone in body.skeleton.ancestors(start)}
        is_toe = not above.isdisjoint((Part.FOOT, Part.TOE))
        name = f"{_title(body, start)}{' Toe' if is_toe else ''}"
        yield from _limb(body, LimbKind.FINGER, name, body.run_of(start))


def _title(body: Body, bone: int) -> str:
    """Return what a bone's name says, for people."""
    told = [word for word in body.names[bone].words if len(word) > 1 and word != "hand"]
    return " ".join(told).title()
