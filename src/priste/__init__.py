"""Spatiotemporal event privacy: quantify it, protect it, audit it."""
