"""What is to be translated, and the files with the translations."""
