"""What is to be seen of chains, as arrays in world space: drawn by overlays, grabbed by gizmos."""
