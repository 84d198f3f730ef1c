"""The cards of the bank."""


def ask_card(username: str = "alex"):
    """Lists the cards of a user."""
    print("a debit card and a credit card")


def update_card_status():
    """Marks the card as no longer active."""
    return [{"status": "success", "msg": "inactive"}]
