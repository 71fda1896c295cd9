// @ts-check
import { Chance } from '@ambit/test-kit';

/**
 * @typedef {{ kind: 'append', key: number } | { kind: 'read', key: number } | { kind: 'insert', key: number }} OfOneKey
 * @typedef {{ kind: 'select', first: number, last: number }} Select the rows whose key is from `first` to `last`
 * @typedef {{ kind: 'nested', fails: boolean, steps: Step[] }} Nested
 * @typedef {OfOneKey | Select | Nested} Step
 * @typedef {{ readOnly: boolean, fails: boolean, steps: Step[] }} Plan what one transaction does, and whether its code throws after it
 */

/** So many transactions share the same few keys, so that they meet, and lists stay short. */
const SHARED_BY = 100;
const KEYS = 5;

/** @param {number} transactions */
export const keysFor = (transactions) =>
  Array.from({ length: Math.ceil(transactions / SHARED_BY) * KEYS }, (_, key) => key);

/** The checker's name of the rows that have a key. @param {number} key */
export const rowKey = (key) => `rows ${key}`;

/** @param {Select} select */
export const rowKeysOf = ({ first, last }) => Array.from({ length: last - first + 1 }, (_, at) => rowKey(first + at));

/**
 * @param {number} seed
 * @param {number} index of the transaction, in both processes together
 * @returns {Plan}
 */
export function planOf(seed, index) {
  const chance = new Chance(seed * 1_000_003 + index);
  const first = Math.floor(index / SHARED_BY) * KEYS;
  const readOnly = chance.of(0.15);
  const fails = chance.of(0.08);
  return { readOnly, fails, steps: stepsOf(chance, { first, readOnly, most: 5, depth: 0 }) };
}

/**
 * @param {Chance} chance
 * @param {{ first: number, readOnly: boolean, most: number, depth: number }} limits
 * @returns {Step[]}
 */
function stepsOf(chance, { first, readOnly, most, depth }) {
  return Array.from({ length: 1 + chance.below(most) }, () => {
    if (depth < 2 && chance.of(0.12)) {
      const steps = stepsOf(chance, { first, readOnly, most: 3, depth: depth + 1 });
      return { kind: 'nested', fails: chance.of(0.5), steps };
    }
    const isRead = readOnly || chance.of(0.55);
    const key = first + chance.below(KEYS);
    if (!chance.of(0.4)) return { kind: isRead ? 'read' : 'append', key };
    if (!isRead) return { kind: 'insert', key };
    return { kind: 'select', first: key, last: key + chance.below(first + KEYS - key) };
  });
}
