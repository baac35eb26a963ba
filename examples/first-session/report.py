"""Prints what was earned, by customer."""

import csv
from collections import defaultdict
from pathlib import Path


def totals(path: Path) -> dict[str, float]:
    """Return the sum of all orders of each customer."""
    found: dict[str, float] = defaultdict(float)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            found[row["customer"]] += float(row["amount"])
    return dict(found)


if __name__ == "__main__":
    earned = totals(Path(__file__).with_name("orders.csv"))
    for customer, amount in sorted(earned.items()):
        print(f"{customer:<10} {amount:>8.2f}")
    print(f"{'total':<10} {sum(earned.values()):>8.2f}")
