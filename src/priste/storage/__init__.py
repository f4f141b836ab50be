"""Files that are whole or not there, and readers that trust nothing they read."""
