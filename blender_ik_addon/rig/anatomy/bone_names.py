"""Parts of the body, sides and numbers in the names of bones. Derived for this project.

Known conventions: those of Blender and Rigify (``upper_arm.L``, ``upper_arm_fk.L``), Mixamo
(``mixamorig:LeftForeArm``), the Unreal mannequin (``lowerarm_l``), VRM (``J_Bip_L_LowerArm``),
motion capture (``LHipJoint``, ``LeftUpLeg``) and anatomy (``radius.L``, ``tibia.L``).
"""

from __future__ import annotations

import enum
import itertools
import re
from functools import lru_cache
from typing import NamedTuple


class Side(enum.StrEnum):
    """A side of the body; the value is the suffix of names on that side."""

    LEFT = ".L"
    RIGHT = ".R"
    MIDDLE = ""


class BodyPart(enum.StrEnum):
    """A part of the body by which limbs are recognised."""

    UPPER_ARM = "upper arm"
    FOREARM = "forearm"
    HAND = "hand"
    THIGH = "thigh"
    SHIN = "shin"
    FOOT = "foot"
    TOE = "toe"
    SHOULDER = "shoulder"
    SPINE = "spine"
    NECK = "neck"
    HEAD = "head"
    TAIL = "tail"
    WING = "wing"
    FINGER = "finger"
    HIP = "hip"
    LEG = "leg"
    ARM = "arm"
    OTHER = ""


class BoneName(NamedTuple):
    """The content of a bone's name.

    Attributes:
        part: The part of the body; ``LEG``, ``ARM``, ``HIP`` and ``SHOULDER`` are ambiguous without
            the bones above and below.
        side: The side of the body.
        words: The words without those of the side and fillers, in lower case.
        is_helper: Whether the bone only serves others: for twists, mechanisms or IK controls.
    """

    part: BodyPart
    side: Side
    words: tuple[str, ...]
    is_helper: bool


_OPPOSITE_WORDS = {"l": "r", "r": "l", "left": "right", "right": "left"}
_SIDES = {
    **dict.fromkeys(("l", "left"), Side.LEFT),
    **dict.fromkeys(("r", "right"), Side.RIGHT),
}
_HELPERS = frozenset(
    "mch org vis wgt tweak twist ik target pole roll helper corrective switch widget master"
    " parent pivot spin heel mid handle ctrl control props prop root socket nub end".split()
)
_NOISE = frozenset(
    "def fk bip j c bone mixamorig character valve biped b bn jnt joint skin".split()
)
_PALM = frozenset(("metacarpal", "palm"))
_PARTS = {
    BodyPart.UPPER_ARM: "upperarm uparm humerus bicep shldr",
    BodyPart.FOREARM: "forearm lowerarm lowarm elbow radius ulna radioulna",
    BodyPart.HAND: "hand wrist carpus manus",
    BodyPart.THIGH: "thigh upperleg upleg femur frontthigh hindthigh rearthigh",
    BodyPart.SHIN: "shin calf lowerleg lowleg knee frontshin hindshin rearshin tibia fibula"
    " tibiofibula",
    BodyPart.FOOT: "foot forefoot ankle paw frontfoot hindfoot rearfoot tarsus pes",
    BodyPart.TOE: "toe toes toebase ball hoof fronttoe hindtoe reartoe",
    BodyPart.SHOULDER: "shoulder clavicle collar collarbone",
    BodyPart.HIP: "hip",
    BodyPart.SPINE: "spine chest upperchest lowerback back abdomen torso waist",
    BodyPart.NECK: "neck",
    BodyPart.HEAD: "head",
    BodyPart.TAIL: "tail",
    BodyPart.WING: "wing fin sidefin backfin topfin tentacle trunk antenna",
    BodyPart.FINGER: "thumb index middle ring pinky little",
    BodyPart.LEG: "leg frontleg hindleg rearleg",
    BodyPart.ARM: "arm",
}
_PART_OF = {word: part for part, words in _PARTS.items() for word in words.split()}
# Positions before a capital after a small letter, before the last capital of a run, and at numbers.
_CAMEL = re.compile(
    r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])"
)


@lru_cache(maxsize=4096)
def read(name: str) -> BoneName:
    """Return the content of a bone's name."""
    # Leave out the prefix before a colon.
    split = [word.lower() for word in _split(name.rpartition(":")[2])]
    words = [word for word in split if word[0].isalnum() and not word.isdigit()]
    is_helper = any(word in _HELPERS for word in words)
    # Take the last side: in r_toe.L the first letter is for "rear", a toe of a rear leg.
    side = next((_SIDES[word] for word in reversed(words) if word in _SIDES), Side.MIDDLE)
    words = [word for word in words if word not in _SIDES and word not in _NOISE]
    return BoneName(_part(words), side, tuple(words), is_helper)


def opposite(name: str) -> str:
    """Return the name of the same bone of the other side, or the same name if it has no side."""
    words = _split(name)
    for i in reversed(range(len(words))):
        other = _OPPOSITE_WORDS.get(words[i].lower())
        if other is not None:
            return "".join((*words[:i], _match_case(words[i], other), *words[i + 1 :]))
    return name


def _match_case(example: str, word: str) -> str:
    """Return a word in the case of an example: upper case, capitalised or lower case."""
    if example.isupper():
        return word.upper()
    return word.capitalize() if example[0].isupper() else word


def _split(name: str) -> list[str]:
    """Return the words and separators of a name, in order; joined they are the name."""
    pieces = re.split(r"([^A-Za-z0-9]+)", name)
    return [word for piece in pieces for word in _CAMEL.split(piece) if word]


def _part(words: list[str]) -> BodyPart:
    """Return the part that two adjacent words name together, or the last one that a word names."""
    for first, second in itertools.pairwise(words):
        if first + second in _PART_OF:
            return _PART_OF[first + second]
    # The last word names the part (finger of a hand, toe of a foot), but fingers' names come first.
    parts = [_PART_OF[word] for word in words if word in _PART_OF]
    if BodyPart.FINGER in parts:
        # Only the thumb's first bone is not in the palm.
        is_palm = "thumb" not in words and not _PALM.isdisjoint(words)
        return BodyPart.OTHER if is_palm else BodyPart.FINGER
    return parts[-1] if parts else BodyPart.OTHER
