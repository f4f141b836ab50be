"""The gateway: a phone in, a protected stream out, live."""
