"""Tours of whole bodies: of their feet while a hand is dragged, and for the pages."""
