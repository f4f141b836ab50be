import pytest

from priste.cli.prices import prices_of_adversaries


def test_the_prices_are_those_of_the_prototype_and_rise_with_the_adversary() -> None:
    prices, constant = prices_of_adversaries()
    errors = {price.adversary.split(":")[0]: price.error for price in prices}
    assert errors["near, ρ = 0.1"] == pytest.approx(0.91, abs=0.03)
    assert errors["any"] == pytest.approx(2.03, abs=0.05)
    assert constant == pytest.approx(2.338, abs=0.001)
    near = [errors[f"near, ρ = {rho}"] for rho in ("0.01", "0.1", "0.3")]
    ordered = [errors["known"], *near, errors["any"], constant]
    assert ordered == sorted(ordered)
