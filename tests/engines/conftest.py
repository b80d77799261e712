"""Engines share a machine with other tests here: their idle threads sleep."""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
