"""``lti_filter``: public causal linear filters of a private series.

A filter with impulse response h gives y = h * S. The noise can be added at three places:

- *output*: to y itself. The scale follows from ‖h[:T]‖, and every step has the same standard deviation.
- *input*: to S, which is then filtered. The scale is 1, and step t has the standard deviation ‖h[:t + 1]‖.
- *factored*: in between. H = B·C, where C is the minimum-phase filter with |C| = √|H| on the unit circle. The noise is
  added to c * S, and b = h/c, as a power series, is applied to the release. For long series ‖c‖² is the mean of |H|
  over frequencies, and so is ‖b‖². So the standard deviation is at most that mean, where the other two have the root of
  the mean of |H|², which is no smaller by the inequality of Cauchy and Schwarz. This is the zero-forcing mechanism of
  Le Ny and Pappas (2014), for which this C is optimal.

For short series, or few coefficients, the order can be different. ``"best"`` computes the standard deviation of all
three from public numbers and takes the smallest.

C is computed from the cepstrum: take log √|H| on a fine grid of the circle, double its causal part, and take the
exponential. Zeros on the circle are raised to 10⁻⁶ of the largest |H|, and the grid is finite, so |C| is only
approximately √|H|. Correctness does not depend on that: the sensitivity is that of the computed c, and b divides h by
that c.
"""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy import fft, signal

from discreet.arguments import UNSHOWN, ArgumentError, as_numbers, choice
from discreet.door import Declarations
from discreet.door.inquiry import Inquiry, planned
from discreet.noise import Bits
from discreet.queries.series.factorization import ToeplitzFactorization, series_quotient
from discreet.queries.series.operators import Toeplitz, convolve
from discreet.signals.running_sum import make_factored_inquiry
from discreet.signals.series import Series, Steps
from discreet.signals.signal import Signal

Array = NDArray[np.float64]

METHODS = ("factored", "input", "output")
OVERSAMPLING = 8
FLOOR = 1e-6
EDGE = 1e-9  # poles closer to the unit circle than this are on it
MOST_POLES = 1000


@planned
def lti_filter(
    data: Any,
    b: Any = None,
    a: Any = (1.0,),
    *,
    sos: Any = None,
    time: str | int | None = None,
    value: str | int | None = None,
    steps: int | Steps | None = None,
    epsilon: float,
    delta: float = 1e-6,
    method: str = "best",
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Inquiry[Signal]:
    """Return a private series after a public causal filter.

    Parameters
    ----------
    data, time, value, steps, epsilon, delta, bits, **declared
        As in ``running_sum``. At δ = 0 the noise is Laplace, whatever the method.
    b, a : array
        Numerator and denominator, as in ``scipy.signal.lfilter``: a[0]·y_t = Σ b_i·S_{t−i} − Σ a_i·y_{t−i}, from rest.
    sos : array of shape (sections, 6), optional
        Second-order sections in place of b and a, as in ``scipy.signal.sosfilt``.
    method : str
        Where the noise is added: ``"factored"``, ``"input"`` or ``"output"`` (see the module). ``"best"``: the one with
        the smallest mean variance over all steps, by public numbers.

    Returns
    -------
    Signal

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import signals
    >>> hours = np.random.default_rng(0).uniform(0.0, 24.0, 100_000)
    >>> smooth = signals.lti_filter(hours, [0.1], [1.0, -0.9], time=0, steps=96, epsilon=1.0, bounds=(0, 24))
    >>> bool(abs(smooth.value[-1] / (100_000 / 96) - 1.0) < 0.2)
    True
    """
    choice("method", method, ("best", *METHODS))
    series = Series.from_rows(
        data, time=time, value=value, steps=steps, epsilon=epsilon, delta=delta, bits=bits, declared=declared
    )
    response = impulse_response(b, a, sos, series.count)
    chosen = [place_noise(response, one) for one in (METHODS if method == "best" else (method,))]
    return make_factored_inquiry(series, min(chosen, key=lambda factors: _mean_variance(series, factors)))


def _mean_variance(series: Series, factors: ToeplitzFactorization) -> float:
    """Return the mean variance over steps; infinity where the noise does not fit, as ``make_factored_inquiry`` says."""
    try:
        variance = series.noise(series.query(factors.operator), series.loss()).variance
    except ValueError:
        return np.inf
    with np.errstate(all="ignore"):
        return float(variance * np.mean(factors.weights**2))


def place_noise(response: Array, method: str) -> ToeplitzFactorization:
    """Return the factors B and C of a filter, by where the noise is added."""
    one = np.zeros(len(response))
    one[0] = 1.0
    if method == "output":
        return ToeplitzFactorization(Toeplitz(response), one)
    return ToeplitzFactorization(Toeplitz(one), response) if method == "input" else factor_filter(response)


def factor_filter(response: Array) -> ToeplitzFactorization:
    """Return the factors B and C of an impulse response for the method "factored"; see the module.

    >>> from scipy.signal import lfilter
    >>> result = factor_filter(lfilter([1.0], [1.0, -0.9], np.eye(1, 4)[0]))
    >>> np.convolve(result.operator.coefficients, result.decoder)[:4].round(12).tolist()
    [1.0, 0.9, 0.81, 0.729]
    """
    count = len(response)
    size = OVERSAMPLING << count.bit_length()
    sizes = np.abs(fft.rfft(response, size))
    cepstrum = fft.irfft(0.5 * np.log(np.maximum(sizes, FLOOR * sizes.max())), size)
    causal = np.concatenate([cepstrum[:1], 2.0 * cepstrum[1 : size // 2], np.zeros(size // 2)])
    spectrum = np.exp(fft.rfft(causal, size))
    terms = np.asarray(fft.irfft(spectrum, size)[:count])
    return ToeplitzFactorization(Toeplitz(terms), series_quotient(response, terms))


def impulse_response(b: Any, a: Any, sos: Any, count: int) -> Array:
    """Return h[:T] of a stable filter; raise for all others."""
    if (b is None) == (sos is None):
        raise ArgumentError(
            "b, sos", UNSHOWN, "one of them", write="b=[0.1], a=[1, -0.9], or sos=signal.butter(2, 0.1, output='sos')"
        )
    impulse = np.zeros(count)
    impulse[0] = 1.0
    if sos is None:
        top, bottom = (_coefficients(name, given, count) for name, given in (("b", b), ("a", a)))
        sections = [(top, bottom)]
    else:
        try:
            table = as_numbers(sos)
        except (TypeError, ValueError):
            table = np.zeros(0)
        if table.ndim != 2 or table.shape[0] < 1 or table.shape[1] != 6:
            raise ArgumentError(
                "sos", UNSHOWN, "numbers of shape (sections, 6), as scipy.signal.butter(…, output='sos') gives"
            )
        sections = [(_coefficients("sos", row[:3], count), _coefficients("sos", row[3:], count)) for row in table]
    for _, bottom in sections:
        _check_stable(bottom)
    for top, bottom in sections:
        impulse = signal.lfilter([1.0], bottom, convolve(top, impulse))
    if not (np.isfinite(impulse).all() and 1e-100 < np.abs(impulse).max() < 1e100):
        raise ArgumentError(
            "b, a", UNSHOWN, "a filter whose impulse response is finite, between 1e-100 and 1e100 in size"
        )
    return np.asarray(impulse)


def _coefficients(name: str, given: Any, count: int) -> Array:
    try:
        values = np.atleast_1d(as_numbers(given))
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ArgumentError(name, given, "finite coefficients", write=f"for example {name}=[1.0, -0.9]")
    if len(values) > count:
        raise ArgumentError(
            name, UNSHOWN, f"at most {count} coefficients, as many as there are steps; got {len(values)}"
        )
    return values


def _check_stable(bottom: Array) -> None:
    if bottom[0] == 0.0:
        raise ValueError("a[0]=0: expected another first coefficient; leave leading zeros out")
    if len(bottom) > MOST_POLES:
        raise ArgumentError(
            "a",
            UNSHOWN,
            f"at most {MOST_POLES} coefficients, got {len(bottom)}",
            write="a long filter by its impulse response, in b",
        )
    if not _is_stable(bottom):
        shown = bottom.tolist() if len(bottom) <= 9 else "…"
        raise ArgumentError(
            "a",
            shown,
            "a stable filter, all poles within the unit circle. For running sums (a=[1, -1]) write running_sum",
        )


def _is_stable(bottom: Array) -> bool:
    """Return whether all poles are within 1 − EDGE, by the step-down recursion of Schur and Cohn in O(n²).

    With k the last coefficient over the first, a polynomial has all roots within the unit circle if and only if |k| < 1
    and the one of a degree less, a − k·(a backwards), has. Coefficient i over (1 − EDGE)^i moves the circle.

    >>> _is_stable(np.array([1.0, -0.9])), _is_stable(np.array([1.0, -1.0])), _is_stable(np.array([1.0, 0.0, 1.1]))
    (True, False, False)
    """
    left = bottom / np.abs(bottom).max() * (1.0 - EDGE) ** -np.arange(float(len(bottom)))
    while len(left) > 1:
        if not abs(left[-1]) < abs(left[0]):
            return False
        left = (left - left[-1] / left[0] * left[::-1])[:-1]
        left = left / np.abs(left).max()
    return True
