"""Tour with a whole body: drag a hand beyond reach, undo, redo, crouch; the feet stay.

It takes two pictures of docs/whole_body.md.
"""

import bpy
import numpy as np
from mathutils import Vector

from examples.parts import studio
from window import character
from window.character import HANDS, TORSO, Place, pose, rig
from window.driver import Session, check, check_moved, check_near
from window.tour import Tour, line

TORSO_OF_BODY, ARM, OTHER_ARM = "Torso", "Arm.L", "Arm.R"
PINNED = {"Leg.L", "Leg.R"}
FEET = ("foot.L", "foot.R")
# Tolerances of pinned feet: movement as a share of the height, and rotation, radians.
MAX_MOVE, MAX_TURN = 2e-5, 1e-4
VIEW = Vector((0.62, -0.2, 0.98)), 4.2, (1.45, 0.0, -0.35)
# Metres, from rest: to a shelf that the arm alone cannot reach, and to a place beyond any reach.
TO_SHELF, TOO_FAR = Vector((0.22, -0.08, 0.52)), Vector((1.15, -0.42, 0.75))
SHELF = Vector((1.0, -0.36, 1.62)), Vector((1.5, 0.04, 1.66))
DRAG_STEPS = 5
CROUCHED = Vector((0.0, 0.0, -0.38))
FROM_LEFT = Vector((0.3, 0.35, 0.9)), 4.0, (1.42, 0.0, 1.05)


def place_of(bone: str) -> Vector:
    """Return the evaluated head of a bone."""
    return Vector(pose(bone)[0, :3, 3])


class Steps(Tour):
    """Steps of a user with a whole body."""

    feet_pose: np.ndarray
    rest: dict[str, object]

    def set_up(self) -> Session:
        """Press Set Up Limbs, then Make Whole Body; the right hand gives way to the left one."""
        yield from self.add_metarig(VIEW)
        rig().show_in_front = True
        studio.add_block("Shelf", *SHELF)
        bpy.context.view_layer.objects.active = rig()
        before = pose()
        yield from self.set_up_limbs()
        yield from self.press_button("body")
        chains = rig().chain_ik.chains
        pinned = {chain.name for chain in chains if chain.use_pin}
        check(pinned == PINNED, f"Pinned are {sorted(pinned)}.")
        check(rig().chain_ik.body.root == TORSO, f"The root is '{rig().chain_ik.body.root}'.")
        character.check_same(pose(), before, "After the set-up")
        chains[OTHER_ARM].priority = 4
        rig().chain_ik.active_index = chains.find(ARM)
        yield from self.select(rig(), HANDS[0])
        self.feet_pose, self.rest = pose(*FEET), character.read_file()
        self.picture("1_set_up")

    def reach(self) -> Session:
        """Press G on the left hand's control; move it to a shelf beyond its arm, and farther."""
        hips = place_of("spine")
        yield from self._pull(HANDS[0], TO_SHELF, "on the way to the shelf")
        status = rig().chain_ik.chains[ARM].status
        check(status.startswith("Reached"), f"At the shelf: {status}")
        target = rig().pose.bones[HANDS[0]].head.copy()
        check_near(place_of("hand.L"), target, 1e-4, "The hand, which says that it has arrived,")
        shoulder = rig().data.bones["upper_arm.L"].head_local
        arm = sum(rig().data.bones[name].length for name in ("upper_arm.L", "forearm.L"))
        away = (target - shoulder).length
        check(away > arm + 0.05, f"The shelf is {away:.2g} m away, the arm is {arm:.2g} m long.")
        self.picture("whole_body_reach")
        yield from self._pull(HANDS[0], TOO_FAR, "beyond reach", held_at=TO_SHELF)
        yield from self.drop()
        self._check_feet("Dropped beyond reach")
        status = rig().chain_ik.chains[ARM].status
        check(not status.startswith(("Reached", "Kept")), f"Beyond reach: {status}")
        check_moved(place_of("hand.L"), rig().pose.bones[HANDS[0]].head, 0.05, "From its target it")
        check_moved(place_of("spine"), hips, 0.05, "Beyond reach the hips")
        self.picture("2_too_far")

    def undo_and_redo(self) -> Session:
        """Press Ctrl Z, then Ctrl Shift Z: the pose of before, and the one beyond reach."""
        yield from character.undo_and_redo(self, self.rest)
        self._check_feet("After redo")

    def crouch(self) -> Session:
        """Pull the torso down with the mouse: the body crouches."""
        bpy.data.objects.remove(bpy.data.objects["Shelf"])
        character.move(HANDS[0], Place())
        self.viewport.look(*FROM_LEFT)
        yield from self.select(rig(), TORSO_OF_BODY)
        before = place_of("spine")
        yield from self._pull(TORSO_OF_BODY, CROUCHED, "crouching")
        yield from self.drop()
        self._check_feet("Crouched")
        sunk = (before - place_of("spine")).z
        check(sunk > 0.25, f"The hips have gone down by {sunk:.2g} m only.")
        self.picture("whole_body_crouch")

    def _pull(self, name: str, way: Vector, when: str, *, held_at: Vector | None = None) -> Session:
        """Move a control with the mouse, from rest or from a place where it is held; feet stay."""
        start = rig().matrix_world @ rig().data.bones[name].head_local
        places = line(start + (held_at or Vector()), start + way, DRAG_STEPS)
        move = self.move_mouse if held_at else self.grab
        yield from move(places, lambda step: self._check_feet(f"At step {step} {when}"))

    def _check_feet(self, when: str) -> None:
        """Check that the evaluated matrices of the feet have not changed."""
        gaps = np.abs(pose(*FEET) - self.feet_pose)
        height = max(bone.head_local.z for bone in rig().data.bones)
        moved, turned = float(gaps[:, :3, 3].max()) / height, float(gaps[:, :3, :3].max())
        check(moved <= MAX_MOVE, f"{when} a pinned foot has moved by {moved:.2g} of the height.")
        check(turned <= MAX_TURN, f"{when} a pinned foot has turned by {turned:.2g} radians.")
