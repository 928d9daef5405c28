"""Settings of a chain in the scene as a frozen record, made when they change."""

from __future__ import annotations

import enum
import math
import operator
from dataclasses import dataclass, field
from typing import NamedTuple

import bpy

from ...core import JointKind, Lead, SolveOptions, Solver, StepMode

CARRIED_ONLY = frozenset((Solver.FORCE, Solver.FOLLOW))
"""Solvers of chains that a body carries without moving for their targets."""


class StartFrom(enum.StrEnum):
    """The pose that a solve starts from."""

    KEYED = "KEYED"
    REST = "REST"
    CURRENT = "CURRENT"


class NegativeScale(enum.StrEnum):
    """Bend of a limb mirrored by negative scale of its object."""

    MIRROR = "MIRROR"
    KEEP = "KEEP"


class PoleMode(enum.StrEnum):
    """Sources of the side to which a chain bends."""

    TARGET = "TARGET"
    """The pole; without one the start pose."""
    FOLLOW = "FOLLOW"
    """The rest pose: the side turns with the root, and with half of the target's turn."""


class RelativeTo(enum.StrEnum):
    """Zero of the turns of a chain's joint."""

    REST = "REST"
    PARENT = "PARENT"
    CHILD = "CHILD"


class RotationBone(enum.StrEnum):
    """The bone of a chain that takes the target's rotation."""

    TIP = "TIP"
    AUTO = "AUTO"


Axes = tuple[float, float, float]
BONE_SETTINGS = (
    *("bone", "chain_count", "use_tail"),
    *("use_rotation", "rotation_bone", "use_twist_spread"),
)
"""Settings that select the bones of a chain, with the same names in ``ChainSpec``."""
get_bone_settings = operator.attrgetter(*BONE_SETTINGS)
"""Return the values of these settings, of Blender's settings or of a record."""


@dataclass(frozen=True, slots=True)
class JointSpec:
    """Joint that a chain gives a bone, instead of the joint of the bone's own settings.

    Attributes:
        bone: Name of the bone.
        kind: Kind of the joint.
        low: Least turns about X, Y and Z in radians, -inf for no limit. They may exclude rest.
        high: Greatest turns.
        stiffness: Stiffness about X, Y and Z, from 0 to 0.99.
        relative_to: Zero of the turns: the bone's rest pose; the bone straight on from its parent;
            or, as the joint of the next bone of the chain, that bone straight on from this one.
        slide: Least and greatest slide along the Y axis of the bone's rest pose, in the unit of its
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
        """Whether the bone slides, or has a fixed slide."""
        return self.slide != (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Anchor:
    """A point of the scene: an object, or a bone of an armature object.

    Holds a reference to the object. Blender lists every armature object when one is deleted, so a
    record with such a reference is read again before its next use.
    """

    object: bpy.types.Object
    bone: str = ""


class StoredBone(NamedTuple):
    """Stored channels of a bone: its rotation mode, the values of that mode, and others.

    Bones that may stretch have a stored scale. Bones that slide, and the root of a dragged chain
    with its whole location, have a stored location. Otherwise both are empty.
    """

    name: str
    rotation_mode: str
    rotation: tuple[float, ...]
    scale: tuple[float, ...] = ()
    location: tuple[float, ...] = ()
    is_dragged: bool = False


@dataclass(frozen=True, slots=True)
class Easing:
    """Settings for how a chain eases toward its target.

    Attributes:
        ease: Seconds in which the distance shrinks to 1/e, 0 or more; 0 for the fastest.
        fastest: Greatest speed of a joint, above 0: radians, or chain lengths, a second; or inf.
    """

    ease: float = 0.2
    fastest: float = math.inf


@dataclass(frozen=True, slots=True)
class ForceSpec:
    """Forces on the bones of a chain with the solver FORCE.

    Attributes:
        stiffness: Stiffness of the springs at root and tip, as in the core's ``Forces``.
        comfort: Radians to either side that cost nothing, at root and tip.
        mass: Mass of the whole chain; each bone weighs its share of the length.
        gravity: Strength of gravity, along -Z of world space.
        creature: Text of a creature file, instead of stiffness, comfort, masses and joints; or "".
        mode: Rule by which torques become turns.
        gain: Turn for a torque, radians; None for a step that is stable by itself.
        easing: Ease of the chain in time; None to be at the target at once.
    """

    stiffness: tuple[float, float] = (1.0, 1.0)
    comfort: tuple[float, float] = (0.0, 0.0)
    mass: float = 1.0
    gravity: float = 0.0
    creature: str = ""
    mode: StepMode = StepMode.EXACT
    gain: float | None = None
    easing: Easing | None = None

    @property
    def has_weight(self) -> bool:
        """Whether gravity pulls at the chain; a creature has its masses in its text."""
        return self.gravity != 0.0 and (bool(self.creature) or self.mass > 0.0)


@dataclass(frozen=True, slots=True)
class BodyGoal:
    """Settings of a chain in a body, whose chains are solved together.

    Attributes:
        root: Name of the bone of the hips, which the body moves and turns.
        priority: Priority of the chain's target: targets of 1 are met before those of 2.
        is_pinned: Whether its target comes before all that are not pinned.
        pull: Share that the body covers of the way that the limb alone does not reach, 0 to 1.
        floor: Object or bone whose X and Y axes span the floor of the body; None for none.
    """

    root: str
    priority: int = 2
    is_pinned: bool = False
    pull: float = 1.0
    floor: Anchor | None = None

    @property
    def order(self) -> int:
        """Its place among the targets of the body: 0 if pinned, otherwise its priority."""
        return 0 if self.is_pinned else self.priority


@dataclass(frozen=True, slots=True)
class ChainSpec:
    """Settings of one chain.

    Attributes:
        name: Name of the chain, as in messages.
        bone: Name of the tip bone.
        chain_count: Number of bones from the tip (or, without ``use_tail``, from its parent) up; 0
            = all.
        use_tail: The effector is the tip bone's tail, otherwise its head.
        use_rotation: A bone takes the target's rotation.
        rotation_bone: That bone: the tip bone, or the only bone at its tail, as the hand of an arm;
            without such a bone the tip, if the chain has more than two bones.
        use_twist_spread: The turn of that bone is spread along the bones of the segment before it.
        target: Point to follow.
        pole: Point to bend toward; None in mode FOLLOW.
        pole_mode: Source of the side.
        pole_lean: Lean of the side in mode FOLLOW, radians from the chord toward the side.
        pole_angle: Radians about the line from root to target.
        negative_scale: See ``NegativeScale``.
        start_from: See ``StartFrom``.
        stored_pose: Pose before the chain first wrote; empty for the present channels.
        options: Options of the solver; the tolerance in scene units.
        influence: From 0 (stored pose) to 1 (solution); bones turn their share of the way.
        use_limits: Whether joints limit the bones, those of the chain and of the bones' settings.
        joints: Joints of the chain, at most one for a bone.
        use_stretch: Whether bones grow toward a target out of reach, by their IK Stretch.
        use_keep_volume: Whether they get thinner as they grow.
        force: Forces on the bones; None if the solver is not FORCE.
        weight: Weight of the target where chains that share bones cannot all reach, 0 to 1.
        body: Settings of the chain in a body; None for a chain by itself.
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
    joints: tuple[JointSpec, ...] = ()
    use_stretch: bool = False
    use_keep_volume: bool = False
    force: ForceSpec | None = None
    weight: float = 1.0
    body: BodyGoal | None = None

    @property
    def floor(self) -> Anchor | None:
        """The floor of the chain's body."""
        return None if self.body is None else self.body.floor

    @property
    def body_root(self) -> str | None:
        """The root of its body; None for a chain by itself, also if a body carries it."""
        is_carried = self.options.solver in CARRIED_ONLY
        return None if self.body is None or is_carried else self.body.root

    @property
    def is_dragged(self) -> bool:
        """Whether the chain is dragged: it continues from its last pose."""
        return self.options.solver is Solver.FOLLOW

    @property
    def carries_side(self) -> bool:
        """Whether the side to which it bends turns with its root and target."""
        return self.pole_mode is PoleMode.FOLLOW and not self.is_dragged

    @property
    def has_side(self) -> bool:
        """Whether a pole or the rest pose determines its side, instead of its start."""
        return self.pole is not None or self.pole_mode is PoleMode.FOLLOW

    @property
    def easing(self) -> Easing | None:
        """Its ease in time; None to be at the target at once."""
        return None if self.force is None else self.force.easing

    @property
    def depends_on_time(self) -> bool:
        """Whether time matters: the chain is dragged, or eases."""
        return self.is_dragged or self.easing is not None

    @property
    def moves_root(self) -> bool:
        """Whether the chain is dragged and moves its root: it leads, or has no anchor."""
        is_root_led = self.options.lead is Lead.ROOT
        return self.is_dragged and (is_root_led or not self.options.use_anchor)


def names_of_chains(armature_object: bpy.types.Object) -> list[str]:
    """Return the names of all chains of an object, in the order of its list."""
    return armature_object.chain_ik.chains.keys()  # type: ignore[no-any-return]
