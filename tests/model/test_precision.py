import pytest

from roofline.errors import UnsupportedError
from roofline.model.formats import PRECISIONS, precision


@pytest.mark.parametrize("name", PRECISIONS)
def test_every_precision_is_its_own_name(name):
    assert precision(name) == name


def test_formats_stand_for_their_arithmetic():
    assert precision("NVFP4") == "fp4"
    assert precision("w8a8") == "int8"
    assert precision("int4:128") == "int4"
    with pytest.raises(UnsupportedError, match="no arithmetic 'q4_k'"):
        precision("q4_k")
