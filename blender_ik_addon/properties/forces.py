"""Settings of chains with the solver Force: stiffness, comfort, mass, gravity and ease."""

from __future__ import annotations

import math
from dataclasses import replace

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, FloatProperty, StringProperty

from ..core import StepMode
from ..rig.anatomy.creature_files import Creature, Curve, parse_creature, write_creature
from ..rig.planning.acting_forces import creature_of
from ..rig.reading.spec import Easing, ForceSpec
from .chains import KEYABLE, NOT_KEYABLE, ChainGroup, set_values
from .choices import LABEL_CONTEXT

MODES = (
    (
        "EXACT",
        "Exact",
        "Each joint turns by the torque of the pull, which is the lever times the force",
    ),
    (
        "CLASSIC",
        "Classic",
        "Each joint turns by the product of two sines, a method known from games",
    ),
)
ROOT_AND_TIP = np.array([0.0, 1.0])
STRENGTH = KEYABLE | {"default": 1.0, "min": 0.0, "soft_max": 10.0}
COMFORT = KEYABLE | {"default": 0.0, "min": 0.0, "max": math.pi, "subtype": "ANGLE"}


class ForceSettings(bpy.types.PropertyGroup):
    """The settings of one chain for the solver Force."""

    stiffness_root: FloatProperty(
        name="Stiffness Root",
        description="Strength with which the first bones spring back to the start pose, relative"
        " to mass times gravity; no unit",
        **STRENGTH,
    )
    stiffness_tip: FloatProperty(
        name="Stiffness Tip",
        description="Strength with which the last bones spring back to the start pose. The bones"
        " in between get values in between; no unit",
        **STRENGTH,
    )
    comfort_root: FloatProperty(
        name="Comfort Root",
        description="Angle that the first bones can turn before they spring back; in degrees",
        **COMFORT,
    )
    comfort_tip: FloatProperty(
        name="Comfort Tip",
        description="Angle that the last bones can turn before they spring back. The bones in"
        " between get values in between; in degrees",
        **COMFORT,
    )
    mass: FloatProperty(
        name="Mass",
        description="Weight of the whole chain. Each bone gets a share by its length. Only used"
        " with gravity; no unit",
        **STRENGTH,
    )
    gravity: FloatProperty(
        name="Gravity",
        description="Strength of the downward pull, along -Z of the world; no unit. 0: off",
        soft_min=0.0,
        soft_max=10.0,
        **KEYABLE,
    )
    creature: StringProperty(
        name="Creature",
        description="Text of a creature file: stiffness, comfort, mass and joints from root to"
        " tip. It replaces stiffness, comfort and mass. Load > None brings these numbers back",
        **NOT_KEYABLE,
    )
    force_mode: EnumProperty(
        name="Force Mode",
        description="Method that computes the turns of the joints from the pull of the target",
        items=MODES,
        default="EXACT",
        **NOT_KEYABLE,
    )
    force_gain: FloatProperty(
        name="Step Size",
        description="Turn of a joint in each step if the pull has the length of the chain, in"
        " degrees. 0: the largest stable step",
        min=0.0,
        soft_max=1.0,
        subtype="ANGLE",
        **NOT_KEYABLE,
    )
    use_gradual: BoolProperty(
        name="Gradual",
        description="Move toward the target gradually, over several frames. The pose then depends"
        " on the frames before: play from the first frame, and bake to keep the result",
        **NOT_KEYABLE,
    )
    ease: FloatProperty(
        name="Time Constant",
        description="Seconds until one third of the distance to the target is left. A larger"
        " value makes the chain slower. 0: no delay",
        default=0.2,
        min=0.0,
        soft_max=5.0,
        subtype="TIME_ABSOLUTE",
        unit="TIME_ABSOLUTE",
        **NOT_KEYABLE,
    )
    fastest: FloatProperty(
        name="Max Speed",
        translation_context=LABEL_CONTEXT,
        description="Largest turn of a joint in one second; in degrees. 0: no limit",
        min=0.0,
        soft_max=20.0,
        subtype="ANGLE",
        **NOT_KEYABLE,
    )


def force_spec(settings: ForceSettings, animated: ForceSettings) -> ForceSpec:
    """Return the forces on a chain as a record; what can be keyed is read from ``animated``."""
    easing = None
    if settings.use_gradual:
        easing = Easing(settings.ease, settings.fastest or math.inf)
    return ForceSpec(
        stiffness=(animated.stiffness_root, animated.stiffness_tip),
        comfort=(animated.comfort_root, animated.comfort_tip),
        mass=animated.mass,
        gravity=animated.gravity,
        creature=settings.creature,
        mode=StepMode(settings.force_mode),
        gain=settings.force_gain or None,
        easing=easing,
    )


def apply_creature(chain: ChainGroup, text: str) -> Creature:
    """Apply a creature file to a chain, with the solver Force; return the creature.

    A creature that the settings can express is stored in them, any other one as text.

    Raises:
        InvalidCreatureError: If it is not a creature, with what to change; nothing is changed then.
    """
    creature = parse_creature(text)
    values = _plain_values(creature)
    if values is None:
        one_line = " ".join(line.strip() for line in write_creature(creature).splitlines())
        values = {"creature": one_line}
    else:
        values["creature"] = ""
    values["gravity"] = creature.gravity
    if chain.solver != "FORCE":
        chain.solver = "FORCE"
    set_values(chain.force, values)
    return creature


def creature_name(chain: ChainGroup) -> str:
    """Return the name of the creature whose text a chain stores; empty without a text.

    Raises:
        InvalidCreatureError: If the stored text is not a creature.
    """
    text: str = chain.force.creature
    return parse_creature(text).name if text else ""


def creature_text(chain: ChainGroup) -> str:
    """Return the forces of a chain as the text of a creature file.

    Raises:
        InvalidCreatureError: If the stored text is not a creature.
    """
    force = force_spec(chain.force, chain.force)
    root, tip = force.stiffness
    force = replace(
        force,
        stiffness=(_shortest_number(root), _shortest_number(tip)),
        mass=_shortest_number(force.mass),
        gravity=_shortest_number(force.gravity),
    )
    return write_creature(creature_of(force, chain.name or "Creature"))


def _shortest_number(value: float) -> float:
    """Return the shortest number that Blender stores as this one, as the user has typed it."""
    return float(str(np.float32(value)))


def _plain_values(creature: Creature) -> dict[str, object] | None:
    """Return the settings that express a creature; None if they cannot."""
    shown = (creature.stiffness, creature.comfort[0][1], creature.mass)
    stiffness, comfort, mass = (curve.at(ROOT_AND_TIP) for curve in shown)
    ends = [(creature.stiffness, stiffness), (creature.mass, mass[[1, 1]])]
    for low, high in creature.comfort:
        ends += [(low, -comfort), (high, comfort)]
    if creature.joints or not all(_is_linear(curve, *pair) for curve, pair in ends):
        return None
    return {
        "stiffness_root": float(stiffness[0]),
        "stiffness_tip": float(stiffness[1]),
        "comfort_root": math.radians(comfort[0]),
        "comfort_tip": math.radians(comfort[1]),
        "mass": float(mass[1]),
    }


def _is_linear(curve: Curve, root: float, tip: float) -> bool:
    """Tell whether a curve is a straight line between a value at the root and one at the tip."""
    # The ends as well: a curve may have one value for the whole chain.
    places = np.append(curve.places, ROOT_AND_TIP)
    return np.allclose(curve.at(places), root + (tip - root) * places, rtol=1e-9, atol=0.0)
