"""`jax.scipy.spatial.transform`: rotations in space as unit quaternions, and their interpolation.

Quaternions are (x, y, z, w), with the scalar part last. Angles are in radians unless `degrees` is
set. A `Rotation` is a pytree that holds one quaternion [4] or several [n, 4].
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from jitney import numpy as jnp, random
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.numpy.promotion import is_inexact

__dir__ = listing(__name__)


def _floats(x: ArrayLike | Sequence[Any]) -> Array:
    value = jnp.asarray(x)
    return value if is_inexact(value.dtype) else value.astype(float)


def _unit(x: Array) -> Array:
    return x / jnp.linalg.norm(x, axis=-1, keepdims=True)


def _product(p: Array, q: Array) -> Array:
    """Computes the quaternion product p q: the rotation q followed by p."""
    (px, py, pz, pw), (qx, qy, qz, qw) = jnp.moveaxis(p, -1, 0), jnp.moveaxis(q, -1, 0)
    return jnp.stack(
        [
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
            pw * qw - px * qx - py * qy - pz * qz,
        ],
        axis=-1,
    )


def _exp(rotvec: Array) -> Array:
    """Converts a rotation vector to a quaternion."""
    square = jnp.sum(rotvec * rotvec, axis=-1, keepdims=True)
    small = square < 1e-6
    angle = jnp.sqrt(jnp.where(small, 1.0, square))
    # sin(angle / 2) / angle, computed by its series near 0
    scale = jnp.where(small, 0.5 - square / 48 + square * square / 3840, jnp.sin(angle / 2) / angle)
    cosine = jnp.where(small, 1 - square / 8 + square * square / 384, jnp.cos(angle / 2))
    return jnp.concatenate([scale * rotvec, cosine], axis=-1)


def _log(quat: Array) -> Array:
    """Converts a quaternion to a rotation vector with an angle of at most pi."""
    quat = jnp.where(quat[..., 3:] < 0, -quat, quat)
    vector, w = quat[..., :3], quat[..., 3:]
    square = jnp.sum(vector * vector, axis=-1, keepdims=True)
    small = square < 2.5e-7
    sine = jnp.sqrt(jnp.where(small, 1.0, square))
    angle = 2 * jnp.arctan2(sine, w)
    return vector * jnp.where(small, 2 + square / 3, angle / sine)


def _matrix(quat: Array) -> Array:
    x, y, z, w = jnp.moveaxis(quat, -1, 0)
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
    ]
    return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)


def _from_matrix(m: Array) -> Array:
    """Converts a rotation matrix to a quaternion, from its largest component (Shepperd 1978)."""
    diagonal = jnp.diagonal(m, axis1=-2, axis2=-1)
    trace = jnp.sum(diagonal, axis=-1, keepdims=True)
    largest = jnp.argmax(jnp.concatenate([diagonal, trace], axis=-1), axis=-1)[..., None]
    ways: list[Array] = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts: dict[int, Array] = {
            i: 1 - trace[..., 0] + 2 * m[..., i, i],
            j: m[..., j, i] + m[..., i, j],
            k: m[..., k, i] + m[..., i, k],
            3: m[..., k, j] - m[..., j, k],
        }
        ways.append(jnp.stack([parts[n] for n in range(4)], axis=-1))
    last = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]]
    ways.append(jnp.stack([*last, 1 + trace[..., 0]], axis=-1))
    chosen = ways[3]
    for n in range(3):
        chosen = jnp.where(largest == n, ways[n], chosen)
    return _unit(chosen)


def _sequence(seq: str, count: int | None = None) -> tuple[str, bool]:
    """Returns the axes in lower case, and whether they are intrinsic (rotate with the body)."""
    if not 1 <= len(seq) <= 3 or (count is not None and len(seq) != count):
        raise ValueError(
            f"Rotation: `seq` must be a string of {count or '1 to 3'} axis names, but got {seq!r}"
        )
    if not re.fullmatch(r"[xyz]+|[XYZ]+", seq):
        raise ValueError(
            "Rotation: `seq` must consist of the extrinsic axes x, y and z, or of the intrinsic "
            f"axes X, Y and Z, but got {seq!r}"
        )
    if any(a == b for a, b in pairwise(seq)):
        raise ValueError(f"Rotation: adjacent axes in `seq` must differ, but it is {seq!r}")
    return seq.lower(), seq.isupper()


class Rotation(NamedTuple):
    """One or several rotations of three-dimensional space.

    Attributes:
      quat: unit quaternions [4] or [n, 4].

    Example:
      >>> turn = jax.scipy.spatial.transform.Rotation.from_euler("z", 90.0, degrees=True)
      >>> turn.apply(jnp.array([1.0, 0.0, 0.0])).round(4)
      Array([0., 1., 0.], dtype=float32)
    """

    quat: Array

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """Combines several rotations into one object."""
        return cls(jnp.concatenate([jnp.atleast_2d(r.quat) for r in rotations]))

    @classmethod
    def from_euler(cls, seq: str, angles: ArrayLike, degrees: bool = False) -> Rotation:
        """Returns rotations composed of rotations about coordinate axes, in sequence.

        Args:
          seq: one to three axes: letters "x", "y", "z" for extrinsic rotations (about axes fixed in
            space), or "X", "Y", "Z" for intrinsic rotations (about axes of the rotated body).
          angles: angles [k] or [n, k] about k axes; for one axis also a scalar or [n].
          degrees: whether angles are in degrees.

        Raises:
          ValueError: if `seq` is invalid, or there is not one angle for each axis.
        """
        axes, intrinsic = _sequence(seq)
        values = _floats(angles)
        values = jnp.deg2rad(values) if degrees else values
        if values.ndim == 0:
            values = values.reshape(1)
        elif len(axes) == 1 and values.ndim == 1 and values.shape[0] > 1:
            values = values[:, None]
        if values.shape[-1] != len(axes):
            raise ValueError(
                f"Rotation: expected one angle for each axis of {seq!r}, but got angles of shape "
                f"{values.shape}"
            )
        result: Array | None = None
        for i, axis in enumerate(axes):
            vector = values[..., i, None] * np.eye(3)["xyz".index(axis)].astype(values.dtype)
            turn = _exp(vector)
            if result is None:
                result = turn
            else:
                result = _product(result, turn) if intrinsic else _product(turn, result)
        assert result is not None
        return cls(result)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Rotation:
        """Returns the rotations with the given matrices [3, 3] or [n, 3, 3]."""
        return cls(_from_matrix(_floats(matrix)))

    @classmethod
    def from_mrp(cls, mrp: ArrayLike) -> Rotation:
        """Returns the rotations with the given modified Rodrigues parameters [3] or [n, 3].

        The parameters are the unit vector of the axis times tan(angle / 4).
        """
        m = _floats(mrp)
        square = jnp.sum(m * m, axis=-1, keepdims=True)
        return cls(jnp.concatenate([2 * m, 1 - square], axis=-1) / (1 + square))

    @classmethod
    def from_quat(cls, quat: ArrayLike) -> Rotation:
        """Returns the rotations with the given quaternions [4] or [n, 4], which are normalized."""
        return cls(_unit(_floats(quat)))

    @classmethod
    def from_rotvec(cls, rotvec: ArrayLike, degrees: bool = False) -> Rotation:
        """Returns the rotations with the given rotation vectors [3] or [n, 3].

        The direction of a rotation vector is the axis, and its length is the angle.
        """
        vector = _floats(rotvec)
        return cls(_exp(jnp.deg2rad(vector) if degrees else vector))

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """Returns the identity rotation, or `num` of them."""
        one = jnp.array([0, 0, 0, 1], dtype)
        return cls(one if num is None else jnp.tile(one, (num, 1)))

    @classmethod
    def random(cls, random_key: Array, num: int | None = None) -> Rotation:
        """Returns uniformly distributed random rotations."""
        return cls(_unit(random.normal(random_key, (4,) if num is None else (num, 4))))

    def __getitem__(self, indexer: Any) -> Any:
        """Returns the rotations selected by an index."""
        if self.single:
            raise TypeError(
                "Rotation: a single rotation cannot be indexed; use Rotation.concatenate to combine "
                "several rotations"
            )
        return Rotation(self.quat[indexer])

    def __len__(self) -> int:
        """Returns the number of rotations."""
        if self.single:
            raise TypeError(
                "Rotation: a single rotation has no length; check the attribute `single` first"
            )
        return self.quat.shape[0]

    def __mul__(self, other: Any, /) -> Rotation:
        """Returns the composition of rotations: `other` followed by this one."""
        return Rotation(_unit(_product(self.quat, other.quat)))

    @property
    def single(self) -> bool:
        """Whether this is a single rotation, without a leading axis."""
        return self.quat.ndim == 1

    def apply(self, vectors: ArrayLike, inverse: bool = False) -> Array:
        """Rotates vectors [3] or [n, 3], by the inverse rotations if `inverse`."""
        matrix = self.as_matrix()
        if inverse:
            matrix = jnp.matrix_transpose(matrix)
        return jnp.einsum("...ij,...j->...i", matrix, _floats(vectors))

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """Returns the angles of rotations about three coordinate axes.

        The first and the third angle are in [-pi, pi]; the second is in an interval of length pi.
        If the rotation about the second axis aligns the first and the third axis (gimbal lock), the
        third angle is set to 0. Source: Bernardes and Viollet, PLOS ONE 17 (2022), e0276302.

        Args:
          seq: three axes, as in `from_euler`.
          degrees: whether to return degrees.

        Raises:
          ValueError: if `seq` is invalid.
        """
        axes, intrinsic = _sequence(seq, 3)
        i, j, k = ("xyz".index(a) for a in (axes[::-1] if intrinsic else axes))
        symmetric = i == k
        if symmetric:
            k = 3 - i - j
        sign = (i - j) * (j - k) * (k - i) / 2
        q = self.quat
        x, y, z, w = q[..., i], q[..., j], q[..., k] * sign, q[..., 3]
        if symmetric:
            a, b, c, d = w, x, y, z
        else:
            a, b, c, d = w - y, x + z, y + w, z - x
        second = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
        tiny = 1e-7
        low, high = jnp.abs(second) <= tiny, jnp.abs(second - math.pi) <= tiny
        half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
        first = half_sum - half_difference
        third = half_sum + half_difference
        both = jnp.where(low, 2 * half_sum, 2 * half_difference * (-1 if not intrinsic else 1))
        locked = low | high
        first = jnp.where(locked, 0.0 if intrinsic else both, first)
        third = jnp.where(locked, both if intrinsic else 0.0, third)
        if not symmetric:
            third, second = third * sign, second - math.pi / 2
        angles = jnp.stack([first, second, third], axis=-1)
        angles = (angles + math.pi) % (2 * math.pi) - math.pi
        angles = angles[..., ::-1] if intrinsic else angles
        return jnp.rad2deg(angles) if degrees else angles

    def as_matrix(self) -> Array:
        """Returns the matrices [3, 3] or [n, 3, 3]."""
        return _matrix(self.quat)

    def as_mrp(self) -> Array:
        """Returns the modified Rodrigues parameters, of angles of at most pi."""
        quat = jnp.where(self.quat[..., 3:] < 0, -self.quat, self.quat)
        return quat[..., :3] / (1 + quat[..., 3:])

    def as_rotvec(self, degrees: bool = False) -> Array:
        """Returns the rotation vectors. Their lengths are the angles, which are at most pi."""
        vector = _log(self.quat)
        return jnp.rad2deg(vector) if degrees else vector

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Array:
        """Returns the quaternions.

        Args:
          canonical: whether to choose, of the two quaternions that represent a rotation, the one
            with w > 0 or, if w is 0, the one whose first nonzero component is positive.
          scalar_first: whether to return (w, x, y, z).
        """
        quat = self.quat
        if canonical:
            parts = [quat[..., n] for n in (3, 0, 1, 2)]
            negative = jnp.zeros(parts[0].shape, bool)
            for part in reversed(parts):
                negative = jnp.where(part == 0, negative, part < 0)
            quat = jnp.where(negative[..., None], -quat, quat)
        return jnp.roll(quat, 1, axis=-1) if scalar_first else quat

    def inv(self) -> Rotation:
        """Returns the inverse rotations."""
        return Rotation(self.quat * np.array([-1, -1, -1, 1], self.quat.dtype))

    def magnitude(self) -> Array:
        """Returns the angles of the rotations, in [0, pi]."""
        vector = jnp.linalg.norm(self.quat[..., :3], axis=-1)
        return 2 * jnp.arctan2(vector, jnp.abs(self.quat[..., 3]))

    def mean(self, weights: ArrayLike | None = None) -> Rotation:
        """Returns the mean rotation, which minimizes the sum of squared chordal distances.

        Source: Markley et al., Averaging quaternions, 2007.

        Args:
          weights: weights of the rotations [n]; equal by default.

        Raises:
          ValueError: if there is not exactly one weight for each rotation.
        """
        quats = jnp.atleast_2d(self.quat)
        shares = jnp.ones(quats.shape[0], quats.dtype) if weights is None else _floats(weights)
        if shares.shape != (quats.shape[0],):
            raise ValueError(
                f"Rotation.mean: expected `weights` of shape {(quats.shape[0],)}, but got "
                f"{shares.shape}"
            )
        moments = (shares.astype(quats.dtype) * quats.T) @ quats
        return Rotation(jnp.linalg.eigh(moments)[1][:, -1])


class Slerp(NamedTuple):
    """Spherical linear interpolation of rotations; created by `Slerp.init`.

    Between consecutive rotations the angular velocity is constant.

    Attributes:
      times: ascending times [n].
      timedelta: differences of consecutive times [n - 1].
      rotations: the first n - 1 rotations.
      rotvecs: vectors [n - 1, 3] of the rotations from each rotation to the next.

    Example:
      >>> turns = jax.scipy.spatial.transform.Rotation.from_euler("z", jnp.array([0.0, 1.0]))
      >>> slerp = jax.scipy.spatial.transform.Slerp.init(jnp.array([0.0, 2.0]), turns)
      >>> slerp(jnp.array(1.0)).magnitude().round(4)
      Array(0.5, dtype=float32)
    """

    times: Array
    timedelta: Array
    rotations: Rotation
    rotvecs: Array

    @classmethod
    def init(cls, times: ArrayLike, rotations: Rotation) -> Slerp:
        """Returns a function of time that interpolates between rotations [n], given at times [n].

        Raises:
          ValueError: if there are fewer than two rotations, or the number of times differs from
            the number of rotations.
          TypeError: if `rotations` is not a `Rotation`.
        """
        if not isinstance(rotations, Rotation):
            raise TypeError(
                f"Slerp: `rotations` must be a Rotation, but got {type(rotations).__name__}"
            )
        if rotations.single or len(rotations) == 1:
            raise ValueError("Slerp: `rotations` must hold at least two rotations, but holds one")
        places = _floats(times)
        if places.ndim != 1 or places.shape[0] != len(rotations):
            raise ValueError(
                f"Slerp: `times` must be a vector of {len(rotations)} elements, one for each "
                f"rotation, but got shape {places.shape}"
            )
        first = Rotation(rotations.quat[:-1])
        steps = first.inv() * Rotation(rotations.quat[1:])
        return cls(places, jnp.diff(places), first, steps.as_rotvec())

    def __call__(self, times: ArrayLike) -> Rotation:
        """Returns the rotation at a time, or the rotations at times [m]; extrapolates at the ends.

        Raises:
          ValueError: if `times` has more than one axis.
        """
        t = _floats(times)
        if t.ndim > 1:
            raise ValueError(
                f"Slerp: `times` must be a scalar or a vector, but it has shape {t.shape}"
            )
        last = self.timedelta.shape[0] - 1
        index = jnp.clip(jnp.searchsorted(self.times, t, side="right") - 1, 0, last)
        share = (t - self.times[index]) / self.timedelta[index]
        step = Rotation.from_rotvec(self.rotvecs[index] * share[..., None])
        return self.rotations[index] * step
