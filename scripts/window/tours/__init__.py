"""The tours: what is done in the window, each a class ``Steps``; ../play.py plays one of them."""
