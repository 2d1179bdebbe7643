"""Decimal numbers in text as doubles, inside compiled loops: numbers of up to 18 digits are rounded
correctly, others are reported as not exact.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tux.base.compiled import cached_njit

REACH = 60  # powers of ten from -REACH to REACH are known, each as the sum of two doubles
POWERS = [Fraction(10) ** k for k in range(-REACH, REACH + 1)]
HIGH = np.array([float(power) for power in POWERS])
LOW = np.array([float(power - Fraction(float(power))) for power in POWERS])
SPLIT = 2.0**27 + 1.0


@cached_njit
def _scale_by_power(mantissa, exponent):  # type: ignore[no-untyped-def]
    """Compute ``mantissa * 10**exponent``. Returns it, and True if it is certain to be the nearest
    double.

    The product of two sums of two doubles (Dekker 1971) is known to about 104 bits, which decides
    the rounding but for near ties.
    """
    if mantissa == 0 or exponent == 0 and mantissa < 2**53:
        return np.float64(mantissa), True
    if not -REACH <= exponent <= REACH:
        half = exponent // 2
        return mantissa * 10.0**half * 10.0 ** (exponent - half), False
    a, b = np.float64(mantissa), HIGH[exponent + REACH]
    product = a * b
    a_high, b_high = SPLIT * a, SPLIT * b
    a_high, b_high = a_high - (a_high - a), b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    rest = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    rest += a * LOW[exponent + REACH] + np.float64(mantissa - np.int64(a)) * b
    doubt = product * 2.0**-98
    return product + rest, product + (rest - doubt) == product + (rest + doubt)


@cached_njit
def number_at(text, i):  # type: ignore[no-untyped-def]
    """Parse the number at text[i]. Returns its value (NaN if there is none), its end, True if it
    has the form of a whole number, and True if the value is exact.
    """
    negative = text[i] == 45
    if negative or text[i] == 43:
        i += 1
    mantissa, digits, exponent = np.int64(0), 0, 0
    any_, fraction, whole = False, 0, True
    while 48 <= text[i] <= 57 or (text[i] == 46 and not fraction):
        if text[i] == 46:
            fraction, whole = 1, False
        else:
            any_ = True
            if digits < 18:
                mantissa = mantissa * 10 + (text[i] - 48)
                digits += mantissa > 0
                exponent -= fraction
            else:
                exponent += 1 - fraction
                digits += 1
        i += 1
    if not any_:
        return np.nan, i, False, False
    if text[i] == 101 or text[i] == 69:
        i += 1
        whole = False
        down = text[i] == 45
        if down or text[i] == 43:
            i += 1
        begin, power = i, 0
        while 48 <= text[i] <= 57:
            power = min(power * 10 + (text[i] - 48), 100_000)
            i += 1
        if i == begin:
            return np.nan, i, False, False
        exponent += -power if down else power
    value, exact = _scale_by_power(mantissa, exponent)
    return -value if negative else value, i, whole, exact and digits <= 18
