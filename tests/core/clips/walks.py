"""Walks from formulas, with known contacts, and errors of motion capture added to them."""

from dataclasses import dataclass

import numpy as np

from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.core.clips.contacts import find_contacts, lowest_around
from blender_ik_addon.core.clips.footholds import Foot, Motion
from tests.core.chains import lengths_of, unit

HEIGHT, LENGTH = 1.8, 0.24
FOOT = Foot(np.array([[0.0, 0.0, 0.0], [0.0, LENGTH, 0.0]]), np.zeros(2))
EVEN = np.eye(3)
UNEVEN = np.array([[0.9, 0.3, 0.0], [-0.4, 1.2, 0.2], [0.1, -0.1, 0.8]])
SPOILS = ("clean", "skate", "slow", "white", "skate slow white")
RATES = (24, 30, 60, 120)
# Each kind of errors, and the worst kind at each rate.
CASES = (*((30, spoil) for spoil in SPOILS), *((rate, SPOILS[-1]) for rate in (24, 60, 120)))


@dataclass(frozen=True)
class Walk:
    """Paths of heel and toe of both feet (2, 2, F, 3), their contacts, and the path of the root."""

    paths: np.ndarray
    contacts: np.ndarray
    root: np.ndarray
    rate: int


def smooth(x: np.ndarray) -> np.ndarray:
    x = np.clip(x, 0.0, 1.0)
    return x**3 * (10.0 - 15.0 * x + 6.0 * x * x)


def walk(seed: int, rate: int, seconds: float = 12.0) -> Walk:
    """Return a walk along a circle: heel, whole foot and toe on the ground, then a swing."""
    draw = np.random.default_rng(seed)
    times = np.arange(int(seconds * rate)) / rate
    cycle, speed = draw.uniform(0.9, 1.3), draw.uniform(0.8, 1.4)
    stance = cycle * draw.uniform(0.58, 0.68)
    heel_off, toe_on = stance * draw.uniform(0.55, 0.75), stance * draw.uniform(0.1, 0.22)
    bend, heading = draw.uniform(0.02, 0.15) * draw.choice((-1, 1)), draw.uniform(0.0, 2.0 * np.pi)

    def place(at: np.ndarray, across: float) -> tuple[np.ndarray, np.ndarray]:
        h = heading + bend * at
        offset = speed / bend * np.stack((np.sin(h), -np.cos(h)), -1)
        return offset + across * np.stack((-np.sin(h), np.cos(h)), -1), h

    paths, contacts = np.zeros((2, 2, len(times), 3)), np.zeros((2, 2, len(times)), bool)
    for side in range(2):
        strike, off, lift = draw.uniform((0.15, 0.6, 0.04), (0.45, 1.0, 0.12))
        start = np.floor(times / cycle - 0.5 * side) * cycle + 0.5 * side * cycle
        now = times - start
        (here, h), (there, h_next) = (
            place(start + 0.3 * stance + ahead, 0.1 - 0.2 * side) for ahead in (0.0, cycle)
        )
        x = (now - stance) / (cycle - stance)
        swing, ease = now >= stance, smooth(x)
        up = strike * (1.0 - smooth(now / toe_on))
        down = -off * (np.maximum(now - heel_off, 0.0) / (stance - heel_off)) ** 2
        slope = -2.0 * off * (cycle - stance) / (stance - heel_off)
        turn = (2 * x**3 - 3 * x**2 + 1) * -off + (x**3 - 2 * x**2 + x) * slope
        turn += (3 * x**2 - 2 * x**3) * strike
        pitch = np.where(swing, turn, np.where(now < toe_on, up, down))
        h_stood, h = h, np.where(swing, h + (h_next - h) * ease, h)

        def along(angle: np.ndarray, h: np.ndarray) -> np.ndarray:
            flat = np.cos(angle)
            return LENGTH * np.stack((flat * np.cos(h), flat * np.sin(h), np.sin(angle)), -1)

        heel, heel_next = (np.pad(point, ((0, 0), (0, 1))) for point in (here, there))
        toe = heel + along(np.zeros(len(h)), h_stood)
        toe_next = heel_next + along(np.full(len(h), strike), h_next)
        share = 0.5 * (x * x * (3.0 - 2.0 * x) + ease)
        flown = toe + (toe_next - toe) * share[:, None]
        flown[:, 2] += lift * np.sin(np.pi * np.clip(x, 0.0, 1.0)) ** 2
        ahead, on_heel = along(pitch, h), (now < toe_on)[:, None]
        toe = np.where(swing[:, None], flown, np.where(on_heel, heel + ahead, toe))
        paths[side] = toe - ahead, toe
        contacts[side] = now < heel_off, (now >= toe_on) & (now < stance)
    root = np.pad(place(times, 0.0)[0], ((0, 0), (0, 1)))
    return Walk(paths, contacts, root, rate)


def spoiled(walk: Walk, kind: str, seed: int) -> np.ndarray:
    """Return the paths of a walk with skating, slow shaking (1 cm RMS) or white noise (3 mm)."""
    draw = np.random.default_rng(seed + 999)
    paths, frames = walk.paths.copy(), walk.paths.shape[2]
    if "skate" in kind:
        paths[..., :2] += draw.uniform(-0.15, 0.15) * walk.root[:, :2]
    if "slow" in kind:
        rates = np.fft.rfftfreq(frames, 1.0 / walk.rate)
        waves = draw.normal(size=(2, 2, 2, len(rates), 3)) * ((rates > 0) & (rates < 3))[:, None]
        shake = np.fft.irfft(waves[0] + 1j * waves[1], frames, axis=2)
        paths += 0.01 * shake / np.sqrt((shake**2).sum(-1).mean(-1))[..., None, None]
    if "white" in kind:
        paths += draw.normal(size=paths.shape) * 0.003 / np.sqrt(3.0)
    return paths


def kinds_of(paths: np.ndarray, rate: int) -> np.ndarray:
    """Return the ``Planted`` numbers found for the paths of a heel and a toe (2, F, 3)."""
    lowest = lowest_around(paths[..., 2].min(axis=0), rate)
    return find_contacts(*paths, lowest, rate, HEIGHT)


def acceleration(path: np.ndarray) -> float:
    """Return the root mean square of second differences of a path (F, ...)."""
    return float(np.sqrt((np.diff(path, 2, axis=0) ** 2).mean()))


def slide(path: np.ndarray, contacts: np.ndarray) -> float:
    """Return the largest move per frame of a point (F, 3) in contact."""
    return float(np.max(lengths_of(path)[contacts[1:] & contacts[:-1]], initial=0.0))


def motion_of(paths: np.ndarray, space: np.ndarray = EVEN) -> Motion:
    """Return the motion of a foot whose bone goes from heel to toe, from their paths (2, F, 3).

    In an uneven space (3, 3) the bone has the same direction, but another length.
    """
    y = unit(paths[1] - paths[0])
    x = unit(np.cross(y, [0.0, 0.0, 1.0]))
    axes = np.stack((x, y, np.cross(x, y)), axis=-1)
    turns = rotation.quaternion_from_matrix(axes)
    return Motion(paths[0], turns, np.tile(space, (len(turns), 1, 1)))
