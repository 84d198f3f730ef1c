"""A small list of restaurants."""

RESTAURANTS = {"Italian": "Da Marta", "Japanese": "Umi"}


def find_restaurant(preference):
    """Finds a restaurant for a kind of food."""
    if preference not in RESTAURANTS:
        return {"error": f"nothing found for {preference}"}
    return [{"slot_name": "restaurant", "value": RESTAURANTS[preference]}]
