"""Computes quantiles of the beta distribution and of Student's t, so that scoring needs no scipy.

The incomplete beta function is the continued fraction of Abramowitz and Stegun, 26.5.8, by Lentz's method. Quantiles
are found by Newton's method on the log odds of x, inside a bracket.
"""

import math

SMALLEST = 1e-300  # stands for 0 where a number divides
PRECISION = 1e-15  # of the fraction
NEAR = 1e-13  # steps of Newton's method that are shorter, of the log odds, end it
MOST_TERMS = 100_000  # of the fraction; it takes about as many as the root of the greater parameter
MOST_STEPS = 200
FARTHEST = 700.0  # log odds, beyond which x or 1 - x is 0 as a float


def beta_cdf(log_odds: float, a: float, b: float) -> float:
    """Return the probability that a variable of Beta(a, b) is below x, given as log(x / (1 - x)).

    >>> round(beta_cdf(0.0, 2, 3), 4)  # x is 0.5: 11 / 16
    0.6875
    """
    x = _share(log_odds)
    rest = _share(-log_odds)
    if x > (a + 1) / (a + b + 2):  # the fraction is quick on the other side
        return 1 - math.exp(_log_density(b, a, rest, x)) * _fraction(rest, b, a) / b
    return math.exp(_log_density(a, b, x, rest)) * _fraction(x, a, b) / a


def beta_quantile(p: float, a: float, b: float) -> float:
    """Return the x below which a variable of Beta(a, b) lies with the probability p, for real a and b above 0.

    >>> round(beta_quantile(0.6875, 2, 3), 4)
    0.5
    """
    below = -FARTHEST
    above = FARTHEST
    mean = a / (a + b)
    place = math.log(mean / (1 - mean))
    for _ in range(MOST_STEPS):
        x = _share(place)
        excess = beta_cdf(place, a, b) - p
        if excess > 0:
            above = place
        else:
            below = place
        slope = math.exp(_log_density(a, b, x, _share(-place)))
        step = math.inf
        if slope > SMALLEST:
            step = excess / slope
        following = place - step
        if not below < following < above:
            following = (below + above) / 2
        if abs(following - place) <= NEAR * max(1.0, abs(place)):
            break
        place = following
    return _share(place)


def student_tail(t: float, degrees: float) -> float:
    """Return the probability that |T| is above t >= 0, for Student's t with these degrees of freedom.

    >>> round(student_tail(2.228, 10), 3)
    0.05
    """
    if t == 0:
        return 1.0
    return beta_cdf(math.log(degrees) - 2 * math.log(t), degrees / 2, 0.5)


def student_quantile(level: float, degrees: float) -> float:
    """Return the t that |T| exceeds with the probability 1 - level.

    >>> round(student_quantile(0.95, 10), 3)
    2.228
    """
    x = beta_quantile(1 - level, degrees / 2, 0.5)  # the distribution of degrees / (degrees + T^2)
    return math.sqrt(degrees * (1 - x) / max(x, SMALLEST))


def _share(log_odds: float) -> float:
    """Return x from log(x / (1 - x)), with all its digits also near 0."""
    if log_odds < 0:
        odds = math.exp(log_odds)
        return odds / (1 + odds)
    return 1 / (1 + math.exp(-log_odds))


def _log_density(a: float, b: float, x: float, rest: float) -> float:
    """Return the logarithm of x^a (1 - x)^b / B(a, b): the density of the log odds of x; rest is 1 - x."""
    constant = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return constant + a * math.log(max(x, SMALLEST)) + b * math.log(max(rest, SMALLEST))


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function."""
    numerator = 1.0
    denominator = 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = denominator
    for term in range(1, MOST_TERMS):
        even = term * (b - term) * x / ((a + 2 * term - 1) * (a + 2 * term))
        denominator = 1 / _not_zero(1 + even * denominator)
        numerator = _not_zero(1 + even / numerator)
        value *= denominator * numerator
        odd = -(a + term) * (a + b + term) * x / ((a + 2 * term) * (a + 2 * term + 1))
        denominator = 1 / _not_zero(1 + odd * denominator)
        numerator = _not_zero(1 + odd / numerator)
        change = denominator * numerator
        value *= change
        if abs(change - 1) < PRECISION:
            break
    return value


def _not_zero(value: float) -> float:
    if abs(value) > SMALLEST:
        return value
    return SMALLEST
