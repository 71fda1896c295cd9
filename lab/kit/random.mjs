/**
 * @template T
 * @param {readonly [T, ...T[]]} values
 * @returns {T}
 */
export function oneOf(values) {
  return values[Math.floor(Math.random() * values.length)] ?? values[0];
}

/**
 * A whole number.
 * @param {number} min
 * @param {number} max
 */
export function between(min, max) {
  return min + Math.floor(Math.random() * (max - min + 1));
}

/**
 * @template T
 * @param {readonly T[]} values
 */
export function shuffled(values) {
  const left = [...values];
  return values.flatMap(() => left.splice(between(0, left.length - 1), 1));
}
