def room(guest, nights):
    """Looks for a free room."""


def book(guest, nights):
    """Books it."""
