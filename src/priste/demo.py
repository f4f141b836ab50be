"""The whole idea in one table: `python -m priste.demo`."""

import math

from priste.events import presence
from priste.grid import Grid
from priste.mechanisms import PlanarLaplace
from priste.mobility import Mobility
from priste.odds import as_odds, promise
from priste.protection import Protect
from priste.protector import Protector
from priste.quantify import prior_odds

STEPS = 50
EPSILON = 0.5


def main(seed: int = 2019) -> None:
    """Print a day in the paper's synthetic city, as the person herself may see it."""
    city = Grid(rows=20, columns=20)
    mobility = Mobility.gaussian(city, sigma=3.0)
    clinic = presence(cells=range(10), steps=range(3, 8))
    protector = Protector(
        mobility, PlanarLaplace(city, budget=1.0), Protect(clinic, EPSILON), seed=seed
    )
    path = mobility.sample(STEPS, seed=seed).tolist()
    before = prior_odds(clinic, mobility)

    print(f"A city of {city.rows} × {city.columns} cells. Secret: {clinic!r}.")
    print(f"Promised: ε = {EPSILON}, that is: {promise(EPSILON, before)},")
    print("whatever they believed about the start. (The map alone gives the first odds.)\n")
    print("step   true  released  distance  budget   odds an observer could hold")
    distances = []
    for release in protector.stream(path):
        diary = release.private
        distances.append(float(city.distances[diary.true_cell, release.cell]))
        low, high = (before * math.exp(sign * diary.losses[0]) for sign in (-1, 1))
        print(
            f"{release.step:4d}   {diary.true_cell:4d}  {release.cell:8d}  {distances[-1]:8.2f}"
            f"  {diary.budget:6.4f}   {as_odds(low)} to {as_odds(high)}"
        )
    truth = "happened" if clinic.holds(path) else "did not happen"
    print(f"\nMean distance {sum(distances) / len(distances):.2f} cells. In truth it {truth}.")
    print("Public is the column 'released' alone; all else stays with the person.")
    print("Reproducible because a seed was given; without one the system's randomness is used.")


if __name__ == "__main__":
    main()
