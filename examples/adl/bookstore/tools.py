"""The functions of the bookshop. A real shop would ask its database."""

SHELF = {
    "crime": ["The Long Shadow", "Cold Harbour", "Nine Keys"],
    "travel": ["By Slow Train", "Islands"],
}


def get_date():
    """Tells today's date."""
    return [{"arg": "today", "value": "2026-05-04"}]


def genre_of(title: str):
    """Finds the genre of a book by its title."""
    found = next((g for g, titles in SHELF.items() if title in titles), None)
    print(found or "unknown")
    return [{"arg": "genre", "value": found}]


def bestsellers(genre: str):
    """Lists what sells best in a genre."""
    print(", ".join(SHELF.get(genre, [])) or "nothing")


def place_order(ordered, date: str):
    """Places an order. Without books there is nothing to place."""
    if not ordered:
        return [{"status": "error", "msg": "no books"}]
    return [{"status": "success", "msg": f"ordered on {date}"}]
