"""Plots of what clipping and truncation cost."""

import numpy as np
import pytest
from refusals import refusal

import dppandas as dp

pytest.importorskip("matplotlib").use("Agg")


def test_a_curve_has_lines_for_noise_and_total_and_a_band_for_the_bias() -> None:
    curve = dp.stats.clipping(
        [1.0, 4.0, 9.0], outer=(0, 10), candidates=[2, 5, 10], epsilon=1, n=50
    )
    ax = dp.plot(curve)
    lines = {line.get_label(): line for line in ax.lines}
    assert lines["noise"].get_xdata().tolist() == [2, 5, 10]
    assert np.allclose(lines["noise"].get_ydata(), curve["noise"])
    assert np.allclose(lines["total"].get_ydata(), curve["total"])
    assert np.allclose(lines["bias, its size"].get_ydata(), curve["bias_low"].abs())
    assert len(ax.collections) == 1
    assert ax.get_xlabel() == "upper"
    assert ax.get_title() == "A mean of about 50 values, clipped to (0, upper)"
    said = " ".join(text.get_text() for text in ax.texts).replace("\n", " ")
    assert "ε" in said
    assert "no intervals" in said


def test_a_band_reaches_down_to_zero_where_the_bias_may_be_none() -> None:
    curve = dp.stats.truncation({1: 0.5, 3: 0.5}, bounds=(0, 10), epsilon=1, n=50)
    (band,) = dp.plot(curve).collections
    assert band.get_paths()[0].vertices[:, 1].min() == 0
    for options in ({"confidence": 0.9}, {"of": "population"}):
        refusal(lambda options=options: dp.plot(curve, **options), "drawn as it was made")
    refusal(lambda: dp.plot(curve, expected_rows=9), "for quantiles")
    assert type(curve.plot()) is type(dp.plot(curve))
