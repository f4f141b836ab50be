"""The studio: a page to draw secrets on a map, see what leaks, and see it protected.

Needs the extra: ``pip install 'priste[studio]'``.
"""
