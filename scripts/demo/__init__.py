"""Parts of the demonstration that scripts/demo.py runs."""
