import { parseArgs } from 'node:util';
import { DATABASES } from './databases.mjs';

/** @typedef {import('./databases.mjs').DatabaseKind} DatabaseKind */
/** @typedef {'fastify' | 'express'} Host */

/**
 * The options of a program: numbers, and the hosts and databases to run it on.
 * @template {Record<string, number>} Numbers
 * @param {Numbers} numbers with their defaults
 */
export function readOptions(numbers) {
  const names = [...Object.keys(numbers), 'host', 'database', 'only'];
  const { values } = parseArgs({
    options: Object.fromEntries(names.map((name) => [name, /** @type {const} */ ({ type: 'string' })])),
  });
  const read = Object.entries(numbers).map(([name, fallback]) => [name, number(name, values[name], fallback)]);
  return {
    .../** @type {Numbers} */ (Object.fromEntries(read)),
    hosts: choice('host', values['host'], /** @type {const} */ (['fastify', 'express'])),
    databases: choice('database', values['database'], DATABASES),
    only: values['only'] ?? '',
  };
}

/**
 * @param {string} name
 * @param {string | undefined} text
 * @param {number} fallback
 */
function number(name, text, fallback) {
  if (text === undefined) return fallback;
  if (!/^\d+$/.test(text)) throw new Error(`--${name} must be a whole number, not ${text}`);
  return Number(text);
}

/**
 * One of them, or all.
 * @template {string} T
 * @param {string} name
 * @param {string | undefined} text
 * @param {readonly T[]} all
 * @returns {readonly T[]}
 */
function choice(name, text, all) {
  const chosen = all.filter((value) => text === undefined || value === text);
  if (chosen.length === 0) throw new Error(`--${name} must be one of ${all.join(', ')}, not ${text}`);
  return chosen;
}
