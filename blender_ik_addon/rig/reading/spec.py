"""What a chain in the scene asks for: settings as a frozen record, made when they change."""

from __future__ import annotations

import enum
import math
import operator
from dataclasses import dataclass, field
from typing import NamedTuple

import bpy

from ...core import JointKind, Lead, SolveOptions, Solver, StepMode

CARRIED = frozenset((Solver.FORCE, Solver.FOLLOW))
"""Solvers of chains that a body carries, but does not go along with the targets of."""


class StartFrom(enum.StrEnum):
    """The pose that a solve starts from."""

    KEYED = "KEYED"
    REST = "REST"
    CURRENT = "CURRENT"


class NegativeScale(enum.StrEnum):
    """How a limb mirrored by negative scale of its object bends."""

    MIRROR = "MIRROR"
    KEEP = "KEEP"


class PoleMode(enum.StrEnum):
    """What tells to which side a chain bends."""

    TARGET = "TARGET"
    """Its pole; without one the pose that it starts from."""
    FOLLOW = "FOLLOW"
    """Its rest pose: the side goes along with the root, and with half of the target's turn."""


class RelativeTo(enum.StrEnum):
    """What the turns of an own joint are counted from."""

    REST = "REST"
    PARENT = "PARENT"
    CHILD = "CHILD"


class RotationBone(enum.StrEnum):
    """The bone of a chain that takes the target's rotation."""

    TIP = "TIP"
    AUTO = "AUTO"


Axes = tuple[float, float, float]
OF_BONES = (
    *("bone", "chain_count", "use_tail"),
    *("use_rotation", "rotation_bone", "use_twist_spread"),
)
"""What tells which bones a chain drives, named alike in its settings and in ``ChainSpec``."""
bones_asked = operator.attrgetter(*OF_BONES)
"""Return the values of these, of settings or of a record."""


@dataclass(frozen=True, slots=True)
class OwnJoint:
    """A joint that a chain gives a bone instead of the one that the bone's own settings make.

    Attributes:
        bone: Its name.
        kind: What it is.
        low: Least turns about X, Y and Z in radians, -inf for no limit. They may exclude rest.
        high: Greatest turns.
        stiffness: About X, Y and Z, from 0 to 0.99.
        relative_to: What turns are counted from: the bone's rest pose, the bone standing straight
            on from its parent, or, as the joint of the next bone of the chain, that one standing
            straight on from this.
        slide: Least and greatest way along the Y axis of the bone's rest pose, in the unit of its
            location channels; both zero for none.
        is_cone: Whether X and Z have one angle to all sides.
    """

    bone: str
    kind: JointKind
    low: Axes
    high: Axes
    stiffness: Axes = (0.0, 0.0, 0.0)
    relative_to: RelativeTo = RelativeTo.REST
    slide: tuple[float, float] = (0.0, 0.0)
    is_cone: bool = False

    @property
    def slides(self) -> bool:
        """Whether the bone slides at all."""
        return self.slide != (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Anchor:
    """A point of the scene: an object, or a bone of an armature object.

    Holds a reference to the object. Blender lists every armature object when one is deleted, so
    a record with a reference to that is read anew before it is used again.
    """

    object: bpy.types.Object
    bone: str = ""


class StoredBone(NamedTuple):
    """What the channels of a bone held: its rotation mode, the values of that mode, and others.

    The scale is stored of bones that may stretch, the location of those that slide or, whole, of
    the root of a chain that is dragged; else both are empty.
    """

    name: str
    rotation_mode: str
    rotation: tuple[float, ...]
    scale: tuple[float, ...] = ()
    location: tuple[float, ...] = ()
    is_dragged: bool = False


@dataclass(frozen=True, slots=True)
class Easing:
    """How a chain eases toward its target.

    Attributes:
        ease: Seconds in which the distance shrinks to 1/e, 0 or more; 0 for the fastest.
        fastest: Most radians a second that a joint turns, and most lengths of its chain that it
            slides, above 0; inf for no bound.
    """

    ease: float = 0.2
    fastest: float = math.inf


@dataclass(frozen=True, slots=True)
class ForceSpec:
    """What acts on the bones of a chain that a force pulls.

    Attributes:
        stiffness: Of the springs at root and tip, as the core's ``Forces`` counts it.
        comfort: Radians to either side that cost nothing, at root and tip.
        mass: Of the whole chain; each bone weighs its share of the length.
        gravity: How strongly it pulls, along -Z of world space.
        creature: A creature file's text, which tells stiffness, comfort, masses and joints instead;
            empty for none.
        mode: How torques become turns.
        gain: Turn for a torque, radians; None for a step that is stable by itself.
        easing: How the chain goes to its target in time; None to be there at once.
    """

    stiffness: tuple[float, float] = (1.0, 1.0)
    comfort: tuple[float, float] = (0.0, 0.0)
    mass: float = 1.0
    gravity: float = 0.0
    creature: str = ""
    mode: StepMode = StepMode.EXACT
    gain: float | None = None
    easing: Easing | None = None


@dataclass(frozen=True, slots=True)
class BodyGoal:
    """What a chain is in a body, whose chains are solved together.

    Attributes:
        root: Name of the bone of the hips, which the body moves as well as it turns it.
        priority: Of the chain's target: those of 1 are met before those of 2.
        is_pinned: Whether its target comes before all that are not pinned.
        pull: How much of the way that the limb by itself does not reach the body is asked for,
            0 to 1.
        floor: Whose X and Y axes span the floor that the body does not pass; None for none.
    """

    root: str
    priority: int = 2
    is_pinned: bool = False
    pull: float = 1.0
    floor: Anchor | None = None


@dataclass(frozen=True, slots=True)
class ChainSpec:
    """The settings of one chain.

    Attributes:
        name: As shown in messages.
        bone: Name of the tip bone.
        chain_count: Bones from the tip (or, without ``use_tail``, from its parent) up; 0 = all.
        use_tail: The effector is the tip bone's tail, else its head.
        use_rotation: A bone takes the target's rotation.
        rotation_bone: Which one: the tip bone, or the one bone at its tail, such as the hand of
            an arm; without such a bone the tip, where the chain has more than two bones.
        use_twist_spread: The turn of that bone is spread along the bones of the segment before it.
        target: What to follow.
        pole: What to bend toward; None where the mode is FOLLOW.
        pole_mode: What tells the side.
        pole_lean: Where FOLLOW carries the side from, radians from the chord toward the side.
        pole_angle: Radians about the line from root to target.
        negative_scale: See ``NegativeScale``.
        start_from: See ``StartFrom``.
        stored_pose: The pose before the chain first wrote; empty: the channels as they stand.
        options: What goes to the solver; its tolerance in scene units.
        influence: From 0 (stored pose) to 1 (solution); bones turn their share of the way.
        use_limits: Whether the joints of the bones hold, own ones and those of their settings.
        joints: Own joints, at most one a bone.
        use_stretch: Whether bones grow toward a target out of reach, by their IK Stretch.
        use_keep_volume: Whether they get thinner as they grow.
        force: What acts on the bones; None where the solver is not FORCE.
        weight: What the target counts where chains that share bones cannot all be met, 0 to 1.
        body: What the chain is in a body; None for a chain by itself.
    """

    name: str
    bone: str
    chain_count: int = 0
    use_tail: bool = True
    use_rotation: bool = False
    rotation_bone: RotationBone = RotationBone.TIP
    use_twist_spread: bool = False
    target: Anchor | None = None
    pole: Anchor | None = None
    pole_mode: PoleMode = PoleMode.TARGET
    pole_lean: float = 0.0
    pole_angle: float = 0.0
    negative_scale: NegativeScale = NegativeScale.MIRROR
    start_from: StartFrom = StartFrom.KEYED
    stored_pose: tuple[StoredBone, ...] = ()
    options: SolveOptions = field(default_factory=SolveOptions)
    influence: float = 1.0
    use_limits: bool = True
    joints: tuple[OwnJoint, ...] = ()
    use_stretch: bool = False
    use_keep_volume: bool = False
    force: ForceSpec | None = None
    weight: float = 1.0
    body: BodyGoal | None = None

    @property
    def floor(self) -> Anchor | None:
        """What the body of the chain does not pass."""
        return None if self.body is None else self.body.floor

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """All that the chain follows, or does not pass."""
        return tuple(each for each in (self.target, self.pole, self.floor) if each is not None)

    @property
    def body_root(self) -> str | None:
        """The root of its body; None for a chain by itself, also if a body carries it."""
        is_carried = self.options.solver in CARRIED
        return None if self.body is None or is_carried else self.body.root

    @property
    def is_dragged(self) -> bool:
        """Whether the chain is dragged: it goes on from its last pose."""
        return self.options.solver is Solver.FOLLOW

    @property
    def carries_side(self) -> bool:
        """Whether the side that it bends to goes along with its root and target."""
        return self.pole_mode is PoleMode.FOLLOW and not self.is_dragged

    @property
    def has_side(self) -> bool:
        """Whether a pole or the rest pose tells to which side it bends, not its start."""
        return self.pole is not None or self.pole_mode is PoleMode.FOLLOW

    @property
    def easing(self) -> Easing | None:
        """How it goes to its target in time; None to be there at once."""
        return None if self.force is None else self.force.easing

    @property
    def goes_on(self) -> bool:
        """Whether time matters to it: it is dragged, or eases."""
        return self.is_dragged or self.easing is not None

    @property
    def moves_root(self) -> bool:
        """Whether the chain is dragged and takes its root along: it leads, or is not anchored."""
        is_led = self.options.lead is Lead.ROOT
        return self.is_dragged and (is_led or not self.options.use_anchor)


def names_of_chains(armature_object: bpy.types.Object) -> list[str]:
    """Return the names of all chains of an object, in the order of its list."""
    return armature_object.chain_ik.chains.keys()  # type: ignore[no-any-return]
