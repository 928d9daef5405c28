"""What it is measured on."""
