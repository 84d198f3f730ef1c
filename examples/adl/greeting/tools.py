"""Who is speaking."""


def get_user_name():
    """Tells the name of the user."""
    return [{"slot_name": "user_name", "value": "Robin"}]
