// Searches in ascending time columns, and extents of a range.

/** Index of the first element that is not below `x`. */
export function lowerBound(a: ArrayLike<number>, x: number): number {
  let low = 0;
  let high = a.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (a[middle]! < x) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/** Half-open index range of the elements in `[min, max]`. */
export function indexRange(a: ArrayLike<number>, min: number, max: number): [number, number] {
  const from = lowerBound(a, min);
  let to = lowerBound(a, max);
  while (to < a.length && a[to] === max) {
    to++;
  }
  return [from, to];
}

/** Index of the element nearest to `x`; -1 where there is none. */
export function nearest(a: ArrayLike<number>, x: number): number {
  if (a.length === 0) {
    return -1;
  }
  const i = lowerBound(a, x);
  if (i === 0) {
    return 0;
  }
  if (i === a.length) {
    return i - 1;
  }
  return a[i]! - x < x - a[i - 1]! ? i : i - 1;
}

/** Least and greatest of a range's values above `above`; NaN is skipped; null if none are left. */
export function extent(v: ArrayLike<number>, from: number, to: number, above = -Infinity): [number, number] | null {
  let min = Infinity;
  let max = -Infinity;
  for (let i = from; i < to; i++) {
    const y = v[i]!;
    if (y > above) {
      if (y < min) min = y;
      if (y > max) max = y;
    }
  }
  return min <= max ? [min, max] : null;
}
