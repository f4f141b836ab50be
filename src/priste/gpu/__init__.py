"""Certification, evidence and noise on a GPU: the same results, of many outputs at once.

Needs the extra: ``pip install 'priste[gpu]'``. See `priste.use_gpu`.
"""
