"""The texts to translate, and the files with their translations."""
