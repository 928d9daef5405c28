"""Films for docs/whole_body.md: a dog sits down, a person climbs a ladder."""

from __future__ import annotations

import bpy
from mathutils import Vector

from examples import climb_a_ladder
from window.character import Place, check_reached, pose, put, rig
from window.driver import REDRAW, Session, check, check_near
from window.tour import Tour, clear_scene

PAWS = ("front_toe.L", "front_toe.R", "toe.L", "toe.R")
# As shares of the height and as radians: paws that are pinned.
HELD = 2e-5
# From standing to sitting: where the control of the hips is, and how it is turned.
SITTING = Place(), Place((0.0, 0.03, -0.22), -18.0), Place((0.0, 0.02, -0.42), -36.0)
DOG_VIEW = Vector((0.0, 0.2, 0.5)), 3.0, (1.42, 0.0, 1.2)
LADDER_VIEW = Vector((0.0, -0.25, 1.3)), 3.9, (1.4, 0.0, 2.25)
# All four hold on; the left hand is off, the right foot, the right hand, the left foot; and above.
CLIMBING = (1, 5, 13, 21, 29, 33)


class Steps(Tour):
    """Each picture is a frame of a film."""

    def steps(self) -> Session:
        """Yield the seconds to wait, from the first step to the last."""
        yield from self.install()
        space = self.viewport.area.spaces.active
        space.show_region_ui = space.show_gizmo = False
        space.overlay.show_relationship_lines = False
        bpy.context.scene.chain_ik.overlay.show_reach = False
        yield from self.sit()
        yield from self.climb()

    def sit(self) -> Session:
        """Make a whole body of a dog, and pull its hips down and back; its paws stay."""
        yield from self.add_metarig(DOG_VIEW, "basic_quadruped")
        yield from self.set_up_limbs(use_body=True)
        yield from self.select(rig(), "Torso")
        stood = pose(*PAWS)
        for number, place in enumerate(SITTING):
            put("Torso", place)
            yield REDRAW
            check_near(pose(*PAWS), stood, HELD, "Sitting down, a paw")
            check_reached(f"Sitting down, step {number}")
            self.picture(f"whole_body_sit_{number}")

    def climb(self) -> Session:
        """Build the example of the ladder, and look at some frames."""
        clear_scene()
        with self.viewport.context():
            ladder = climb_a_ladder.build()
            bpy.context.view_layer.objects.active = ladder
        yield from self.set_mode("POSE")
        yield from self.select(ladder, "Torso")
        self.viewport.area.spaces.active.shading.color_type = "MATERIAL"
        self.viewport.look(*LADDER_VIEW)
        for number, frame in enumerate(CLIMBING):
            bpy.context.scene.frame_set(frame)
            yield REDRAW
            for chain in bpy.data.objects["Climb"].chain_ik.chains:
                check(chain.status.startswith("Reached"), f"{chain.name}: {chain.status}")
            self.picture(f"whole_body_climb_{number}")
