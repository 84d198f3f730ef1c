"""The payees of the bank."""

PAYEES = {"alex": ["Mia", "Jonas"]}


def drop_payee(payee_name, username: str):
    """Removes a payee of a user."""
    if payee_name in PAYEES.get(username, []):
        return [{"status": "success"}]
    return [{"status": "error", "msg": "no such payee"}]
