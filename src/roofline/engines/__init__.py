"""Engines that `roofline bench` can drive."""
