"""Parts of the demonstration, which scripts/demo.py runs."""
