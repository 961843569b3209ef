"""Least squares for costs that grow: power laws, polynomials, slopes between neighbours.

Costs of one program span decades, and their errors are shares, not amounts; so every fit weighs a point
by its share: a power law on logarithms, a polynomial by relative error. Points are (n, cost) pairs.
"""

import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class PowerLaw:
    """cost = factor * n ** exponent; `error` is the largest share by which a point is off."""

    factor: float
    exponent: float
    error: float

    def __call__(self, n):
        return self.factor * n**self.exponent


@dataclasses.dataclass(frozen=True)
class Polynomial:
    """cost = sum of coefficients[i] * n ** i; `error` as above."""

    coefficients: tuple
    error: float

    def __call__(self, n):
        return sum(c * n**i for i, c in enumerate(self.coefficients))

    def shares(self, n):
        """What part of the cost at `n` each term is."""
        total = self(n)
        return tuple(c * n**i / total for i, c in enumerate(self.coefficients))


def largest_error(points, fit):
    return max(abs(fit(n) / cost - 1) for n, cost in points)


def power_law(points):
    """REQUIRES: two different n, all numbers positive."""
    logs = [(math.log(n), math.log(cost)) for n, cost in points]
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    spread = sum((x - mean_x) ** 2 for x, _ in logs)
    exponent = sum((x - mean_x) * (y - mean_y) for x, y in logs) / spread
    law = PowerLaw(math.exp(mean_y - exponent * mean_x), exponent, 0.0)
    return dataclasses.replace(law, error=largest_error(points, law))


def solve(matrix, right):
    """The x with matrix x = right, by elimination with pivots; None where there is no single one."""
    rows = [[*row, value] for row, value in zip(matrix, right)]
    size = len(rows)
    nothing = 1e-12 * max(abs(value) for row in matrix for value in row)
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(rows[r][i]))
        if abs(rows[pivot][i]) <= nothing:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(size):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def polynomial(points, degree):
    """With no coefficient below zero: a cost has no negative parts. Terms that would be negative are
    left out, the worst first. REQUIRES: more different n than `degree`, all numbers positive."""
    scale = max(n for n, _ in points)  # so that powers stay near one
    terms = list(range(degree + 1))
    while True:
        rows = [[(n / scale) ** i / cost for i in terms] for n, cost in points]
        normal = [[sum(row[i] * row[j] for row in rows) for j in range(len(terms))] for i in range(len(terms))]
        right = [sum(row[i] for row in rows) for i in range(len(terms))]
        solved = solve(normal, right)
        if solved is None or (min(solved) < 0 and len(terms) > 1):
            worst = 0 if solved is None else solved.index(min(solved))
            terms.pop(worst)
            continue
        coefficients = [0.0] * (degree + 1)
        for term, value in zip(terms, solved):
            coefficients[term] = value / scale**term
        fit = Polynomial(tuple(coefficients), 0.0)
        return dataclasses.replace(fit, error=largest_error(points, fit))


def local_exponents(points):
    """The exponent between each point and the next."""
    return [
        math.log(later / cost) / math.log(more / n)
        for (n, cost), (more, later) in zip(points, points[1:])
    ]
