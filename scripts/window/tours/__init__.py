"""The tours, each a class ``Steps`` with actions in the window; ../play.py plays one."""
