"""Engines that `roofline bench` can drive, and importers of other tools' result files."""
