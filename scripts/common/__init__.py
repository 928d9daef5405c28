"""What every script needs: what it prints, its tables, Blender's own process."""
