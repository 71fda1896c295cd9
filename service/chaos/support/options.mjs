import { parseArgs } from 'node:util';

/**
 * The options of a chaos test: numbers, and the hosts and databases to run it on.
 * @template {Record<string, number>} Numbers
 * @param {Numbers} numbers with their defaults
 */
export function readOptions(numbers) {
  const { values } = parseArgs({
    options: {
      ...Object.fromEntries(Object.keys(numbers).map((name) => [name, /** @type {const} */ ({ type: 'string' })])),
      host: { type: 'string', default: 'both' },
      database: { type: 'string', default: 'both' },
      only: { type: 'string', default: '' },
      write: { type: 'boolean', default: false },
    },
  });
  const given = /** @type {Record<string, string | boolean | undefined>} */ (values);
  const read = Object.entries(numbers).map(([name, fallback]) => [name, number(name, given[name], fallback)]);
  return {
    .../** @type {Numbers} */ (Object.fromEntries(read)),
    hosts: choice('host', given['host'], /** @type {const} */ (['fastify', 'express'])),
    databases: choice('database', given['database'], /** @type {const} */ (['postgres', 'sqlite'])),
    only: String(given['only']),
    write: given['write'] === true,
  };
}

/**
 * @param {string} name
 * @param {string | boolean | undefined} text
 * @param {number} fallback
 */
function number(name, text, fallback) {
  if (text === undefined) return fallback;
  if (!/^\d+$/.test(String(text))) throw new Error(`--${name} must be a whole number, not ${text}`);
  return Number(text);
}

/**
 * @template {string} T
 * @param {string} name
 * @param {string | boolean | undefined} text
 * @param {readonly T[]} all
 * @returns {readonly T[]}
 */
function choice(name, text, all) {
  const one = all.filter((value) => value === text);
  if (one.length === 0 && text !== 'both')
    throw new Error(`--${name} must be one of ${all.join(', ')}, both, not ${text}`);
  return one.length === 0 ? all : one;
}
