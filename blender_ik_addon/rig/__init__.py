"""Reading, solving and writing of poses: Blender's data to arrays and back, without a context.

Objects are originals, unless they are called ``evaluated``.
"""
