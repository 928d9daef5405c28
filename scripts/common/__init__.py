"""What every script needs: what it prints, the Pythons it finds, Blender's own process."""
