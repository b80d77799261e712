"""One function a verb, for Python: what the command line asks in text, asked with values.

`explain` is in :mod:`roofline.bound.explanation` and `plot` in :mod:`roofline.say.figure`; the
others are here. All of them are taken from :mod:`roofline` itself.
"""
