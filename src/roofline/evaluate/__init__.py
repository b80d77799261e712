"""Evaluation of prediction on public measurements: fits, left-out errors, coverage, tables.

Data that others measured is read from a folder, never shipped: the package carries only the
coefficients fitted on it (``python -m roofline.evaluate.build FOLDER`` makes them).
"""
