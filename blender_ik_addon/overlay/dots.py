"""Round dots of one size on the screen, drawn with a shader for them."""

from __future__ import annotations

from functools import cache

import gpu
from mathutils import Matrix

from .colours import Rgba

# Width of the ring around a dot, pixels at an interface scale of 1.
RING_WIDTH = 1.5

VERTEX = """
void main()
{
  gl_Position = to_screen * vec4(pos, 1.0);
  gl_PointSize = size;
  dot_color = color;
}
"""
FRAGMENT = """
void main()
{
  float radius = 0.5 * size;
  float away = length(gl_PointCoord - vec2(0.5)) * size;
  vec4 found = mix(dot_color, back, smoothstep(radius - edge - 1.0, radius - edge, away));
  found.a *= 1.0 - smoothstep(radius - 1.0, radius, away);
  // The framebuffer is linear, colours of the theme are sRGB.
  bvec3 is_dark = lessThan(found.rgb, vec3(0.04045));
  vec3 bright = pow((found.rgb + 0.055) / 1.055, vec3(2.4));
  fragColor = vec4(mix(bright, found.rgb / 12.92, vec3(is_dark)), found.a);
}
"""


@cache
def make_shader() -> gpu.types.GPUShader:
    """Return the shader, compiled at the first call."""
    interface = gpu.types.GPUStageInterfaceInfo("chain_ik_dot")
    interface.smooth("VEC4", "dot_color")
    shader_info = gpu.types.GPUShaderCreateInfo()
    shader_info.push_constant("MAT4", "to_screen")
    shader_info.push_constant("VEC4", "back")
    shader_info.push_constant("FLOAT", "size")
    shader_info.push_constant("FLOAT", "edge")
    shader_info.vertex_in(0, "VEC3", "pos")
    shader_info.vertex_in(1, "VEC4", "color")
    shader_info.vertex_out(interface)
    shader_info.fragment_out(0, "VEC4", "fragColor")
    shader_info.vertex_source(VERTEX)
    shader_info.fragment_source(FRAGMENT)
    return gpu.shader.create_from_info(shader_info)


def draw_dots(
    batch: gpu.types.GPUBatch, matrix: Matrix, diameter: float, scale: float, ring_colour: Rgba
) -> None:
    """Draw dots with rings in the background's colour.

    The batch has coloured points in world space, and ``matrix`` is the perspective matrix. The
    diameter is that without the ring, in pixels; ``scale`` is the interface scale.
    """
    shader = make_shader()
    shader.bind()
    columns = [number for column in matrix.col for number in column]
    shader.uniform_float("to_screen", columns)
    shader.uniform_float("back", ring_colour)
    shader.uniform_float("size", diameter + 2.0 * RING_WIDTH * scale)
    shader.uniform_float("edge", RING_WIDTH * scale)
    gpu.state.program_point_size_set(True)
    batch.draw(shader)
    gpu.state.program_point_size_set(False)
