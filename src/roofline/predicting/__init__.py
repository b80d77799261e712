"""Prediction: how fast it will really be, with an interval.

The model of time is physics with a handful of fitted coefficients (``steptime.py``); the
coefficients are data with their sources (``profiles/``); the interval comes from measurements
that were left out of the fit (``interval.py``). ``roofline.predict`` asks it.
"""

from .interval import Interval
from .prediction import (
    Prediction,
    predict_request,
    predict_served,
    predict_simulated,
    predict_step,
)
from .predictor import Predictor
from .profile import Profile
from .profile import load as load_profile
from .steptime import Parts

__all__ = [
    "Interval",
    "Parts",
    "Prediction",
    "Predictor",
    "Profile",
    "load_profile",
    "predict_request",
    "predict_served",
    "predict_simulated",
    "predict_step",
]
