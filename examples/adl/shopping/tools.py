"""Orders of the shop."""


def submit(items, address, discount=None):
    """Hands an order in."""
    return [{"arg": "what", "value": f"{items} to {address}"}]
