"""An arm in Blender's window: a chain is added, and its target is dragged.

With these steps begins the session of tests/window.
"""

from __future__ import annotations

from dataclasses import dataclass

import bpy
from mathutils import Vector

from window.character import rig
from window.driver import Session, check, check_moved, check_near
from window.tour import Tour, line

TIP = "forearm.L"

# Metres. Blender stores float32; a solve accepts 1e-5.
REACHED = 2e-5
SAME_PLACE = 1e-6

# The rig is seen from its front and left; the sidebar hides a quarter of the view, so the centre is
# beside the rig.
VIEW = Vector((0.40, 0.0, 1.45)), 1.7, (1.45, 0.0, 0.4)
DRAG_TO = Vector((0.52, 0.0, 1.72))
DRAG_STEPS = 8


@dataclass(frozen=True)
class Arm:
    """Where the arm and its target are, world space; the effector is its wrist."""

    target: Vector | None
    elbow: Vector
    wrist: Vector
    status: str

    def check_reached(self, when: str) -> None:
        check_near(self.wrist, self.target, REACHED, f"{when} the wrist")
        check(self.status.startswith("Reached"), f"{when} the status is '{self.status}'.")

    def check_same_pose(self, other: Arm, when: str) -> None:
        check_near(self.elbow, other.elbow, SAME_PLACE, when)
        check_near(self.wrist, other.wrist, SAME_PLACE, when)


def chain() -> bpy.types.PropertyGroup:
    """Return the chain of the arm. By name: undo replaces all references."""
    return rig().chain_ik.chains[0]


def read_arm() -> Arm:
    """Return the arm as Blender has evaluated it; its rig stands at the world's origin."""
    bones = rig().evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
    ends = bones[TIP].head.copy(), bones[TIP].tail.copy()
    if not rig().chain_ik.chains:
        return Arm(None, *ends, "")
    return Arm(bones[chain().subtarget].head.copy(), *ends, str(chain().status))


class Steps(Tour):
    """What people do with one chain."""

    rest: Arm
    dropped: Arm

    def add_rig(self) -> Session:
        """Replace the startup scene by Rigify's human metarig and look at its left arm."""
        yield from self.add_metarig(VIEW)
        self.rest = read_arm()

    def add_chain(self) -> Session:
        """Select upper arm, forearm and hand, and press the sidebar's plus."""
        yield from self.set_mode("POSE")
        yield from self.select(rig(), "upper_arm.L", TIP, "hand.L")
        yield from self.press_button("add")
        (added,) = rig().chain_ik.chains
        found = added.chain_count, added.solver, added.pole_subtarget != "", added.use_rotation
        # Its bones, its solver; whether it has a pole, and turns the hand as the target does.
        check(found == (2, "TWO_BONE", True, True), f"The chain that was added has {found}.")
        added = self._note("added")
        added.check_same_pose(self.rest, "After the chain was added the arm")
        added.check_reached("After the chain was added")

    def drag_target(self) -> Session:
        """Select the hand's control, press G, move the mouse, and click; the arm follows."""
        yield from self.select(rig(), chain().subtarget)
        start = read_arm().target
        yield from self.grab(
            line(start, DRAG_TO, DRAG_STEPS),
            lambda step: read_arm().check_reached(f"At step {step} of the drag"),
        )
        check_moved(read_arm().target, start, 0.2, "With the mouse the target")
        self._note("dragging")
        yield from self.drop()
        self.dropped = read_arm()
        self.dropped.check_reached("After the drop")

    def _note(self, name: str) -> Arm:
        """Take the picture of a step, print where the arm is, and return it."""
        self.picture(name)
        arm = read_arm()
        print(arm)
        return arm
