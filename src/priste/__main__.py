"""The command, from the shell or as `python -m priste`, even without its extra."""

import sys

from priste.errors import MissingExtraError
from priste.extras import needs_extra

NOT_INSTALLED = 2
"""Exit code if the packages of the command are missing."""


def main() -> None:
    """Run the command, or say in one line what to install."""
    try:
        with needs_extra("the command", "cli"):
            from priste.cli import main as command
    except MissingExtraError as error:
        print(f"priste: {error}", file=sys.stderr)
        sys.exit(NOT_INSTALLED)
    command()


if __name__ == "__main__":
    main()
