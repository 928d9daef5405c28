"""What bones are parts of which limbs, told by names and structure."""
