"""What the airline's systems would do."""


def valid_to_change_flight(flight_number: str):
    """Tells whether a flight can be changed."""
    print("it can be changed")


def change_flight(flight_number: str, new_date: str):
    """Moves a booking to another day."""
    return [{"bot": f"Flight {flight_number} is moved to {new_date}."}]


def initiate_refund(flight_number: str):
    """Starts a refund."""
    print("the refund is on its way")


def initiate_flight_credits(flight_number: str):
    """Grants flight credits."""
    print("the credits are granted")


def find_baggage(tag=None):
    """Looks a baggage tag up."""
    if not tag:
        return [{"status": "error", "msg": "no tag was given"}]
    return [{"arg": "place", "value": "Lisbon"}, {"status": "success"}]
