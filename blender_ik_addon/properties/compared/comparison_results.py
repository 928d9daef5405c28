"""The results of a comparison of solvers; the window manager holds them until they are cleared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ...core.model.message import Message
from ...rig.comparing.comparing import CONTENDERS, Attempt
from ...rig.reading.channels import Channels, read_floats, read_integers
from ..chains import ChainGroup, chain_key, chains_of
from ..choices import SOLVERS, uses

_NAMES = {identifier: name for identifier, name, _ in SOLVERS} | {"": "Blender's constraint"}
# The statuses of the last comparison by their texts, which are all that properties can hold.
_MESSAGES: dict[str, Message] = {}


class ComparedPoint(bpy.types.PropertyGroup):
    """A joint of a solved pose."""

    co: FloatVectorProperty(
        name="Position", description="Position of the joint in world space", subtype="XYZ"
    )


class ComparedSolver(bpy.types.PropertyGroup):
    """The result of one solver."""

    name: StringProperty(name="Name", description="Name of the solver")
    solver: StringProperty(
        name="Solver", description="Identifier of the solver; empty for Blender's constraint"
    )
    use_finish: BoolProperty(
        name="Finish", description="Newton has finished the solution of this solver"
    )
    status: StringProperty(
        name="Status", description="Result of the solver, or the reason for its failure"
    )
    residual: FloatProperty(
        name="Residual", description="Distance left to the target in scene units; -1 without a pose"
    )
    iterations: IntProperty(
        name="Iterations", description="Number of iterations; -1 if it is unknown"
    )
    milliseconds: FloatProperty(
        name="Time", description="Time of one solve, in milliseconds; -1 without a pose"
    )
    joints: CollectionProperty(type=ComparedPoint)

    @property
    def title(self) -> Message:
        """The name, for people."""
        name = Message(_NAMES[self.solver])
        is_finished = self.use_finish and uses(self, "use_finish")
        return Message("{name} and Newton", name=name) if is_finished else name

    @property
    def message(self) -> Message:
        """The status, for people."""
        return _MESSAGES.get(self.status) or Message(self.status)

    @property
    def is_solved(self) -> bool:
        """Whether the solver could solve the chain."""
        return bool(self.joints)

    @property
    def setting_names(self) -> tuple[str, ...]:
        """The names of its settings that give a chain this solver."""
        return ("solver", "use_finish") if uses(self, "use_finish") else ("solver",)

    def is_in_use(self, settings: ChainGroup) -> bool:
        """Tell whether this is the present solver of a chain."""
        return all(getattr(settings, name) == getattr(self, name) for name in self.setting_names)

    def ghost(self) -> Channels:
        """Return the joints of its pose, world space, shape (m + 1, 3)."""
        return read_floats(self.joints, "co", 3).reshape(-1, 3)


def mark_of(settings: ChainGroup) -> str:
    """Return an identifier of a chain, valid while the file is open: no name and no reference.

    It holds the object, the index in its list, the tip bone and the target. The index alone is not
    enough: another chain may get it, and undo restores lists.
    """
    uid, index = chain_key(settings)
    return json.dumps((uid, index, _bone_and_target(settings)))


def find_marked(mark: str) -> ChainGroup | None:
    """Return the chain of an identifier; None if it is gone, or has another tip or target now."""
    uid, index, bone_and_target = json.loads(mark)
    rows = (read_integers(bpy.data.objects, "session_uid") == uid).nonzero()[0]
    chains = chains_of(bpy.data.objects[int(rows[0])]) if len(rows) else []
    same = [i for i, chain in enumerate(chains) if _bone_and_target(chain) == bone_and_target]
    return chains[index if index in same else same[0]] if same else None


def _bone_and_target(settings: ChainGroup) -> list[object]:
    target = settings.target
    uid = 0 if target is None else target.session_uid
    return [settings.bone, uid, settings.subtarget]


class ComparedChain(bpy.types.PropertyGroup):
    """The chain that solvers were compared on, and their results."""

    mark: StringProperty(name="Mark", description="Identifier of the chain while the file is open")
    frame: FloatProperty(name="Frame", description="Frame at which the solvers were compared")
    solvers: CollectionProperty(type=ComparedSolver)
    active_index: IntProperty(
        name="Active Solver",
        description="Position in the list of the solver whose status is shown below; 0: the first",
    )
    show_ghosts: BoolProperty(
        name="Ghosts",
        description="Draw the pose of every solver in the viewport, each in its own color",
        default=True,
        options={"SKIP_SAVE"},
    )

    @property
    def chain(self) -> ChainGroup | None:
        """The chain; None if it no longer exists."""
        return find_marked(self.mark) if self.mark else None

    def keep(self, mark: str, attempts: Sequence[Attempt], frame: float) -> None:
        """Store the results of a comparison of a chain, in place of the last ones."""
        self.forget()
        self.mark, self.frame = mark, frame
        for (solver, use_finish), attempt in zip(CONTENDERS, attempts, strict=True):
            row = self.solvers.add()
            row.solver, row.use_finish = "" if solver is None else solver.value, use_finish
            row.name = row.title
            row.status, row.residual, row.iterations, row.milliseconds, joints = attempt
            _MESSAGES[row.status] = attempt.status
            for joint in joints.tolist():
                row.joints.add().co = joint
        # At first the solver of the chain is the active one.
        self.active_index = [row.is_in_use(self.chain) for row in self.solvers].index(True)

    def forget(self) -> None:
        """Forget the last comparison."""
        self.solvers.clear()
        self.mark = ""
        _MESSAGES.clear()


def last_comparison(window_manager: bpy.types.WindowManager | None) -> ComparedChain:
    """Return the last comparison that a window manager holds."""
    return cast(ComparedChain, cast(bpy.types.WindowManager, window_manager).chain_ik)


def register() -> None:
    """Add the comparison to the type of window managers."""
    bpy.types.WindowManager.chain_ik = PointerProperty(
        type=ComparedChain, options={"SKIP_SAVE", "HIDDEN"}
    )


def unregister() -> None:
    """Remove what ``register`` added."""
    del bpy.types.WindowManager.chain_ik
