"""A command line that only pretends."""


def run_command(command: str):
    """Runs a command and prints what it says."""
    print(f"ran: {command}")
