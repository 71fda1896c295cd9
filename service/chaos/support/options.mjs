import { parseArgs } from 'node:util';
import { DATABASES } from './database.mjs';

/** @typedef {import('./database.mjs').DatabaseKind} DatabaseKind */

/**
 * The options of a chaos test: numbers, and the hosts and databases to run it on.
 * @template {Record<string, number>} Numbers
 * @param {Numbers} numbers with their defaults
 * @param {readonly DatabaseKind[]} databases those that it can run on
 */
export function readOptions(numbers, databases = DATABASES) {
  const { values } = parseArgs({
    options: {
      ...Object.fromEntries(Object.keys(numbers).map((name) => [name, /** @type {const} */ ({ type: 'string' })])),
      host: { type: 'string' },
      database: { type: 'string' },
      only: { type: 'string', default: '' },
      write: { type: 'boolean', default: false },
    },
  });
  const given = /** @type {Record<string, string | boolean | undefined>} */ (values);
  const read = Object.entries(numbers).map(([name, fallback]) => [name, number(name, given[name], fallback)]);
  const chosen = choice('database', given['database'], databases);
  return {
    .../** @type {Numbers} */ (Object.fromEntries(read)),
    hosts: choice('host', given['host'], /** @type {const} */ (['fastify', 'express'])),
    databases: chosen,
    only: String(given['only']),
    write: given['write'] === true,
    /** A run on one database has a section of its own, so that the figures of the others stay. @param {string} name */
    sectionOf: (name) => (chosen.length < databases.length ? `${name}-${chosen.join('-')}` : name),
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
  const everything = all.length === 2 ? 'both' : 'all';
  const one = all.filter((value) => value === text);
  if (one.length === 0 && text !== undefined && text !== everything)
    throw new Error(`--${name} must be one of ${all.join(', ')}, ${everything}, not ${text}`);
  return one.length === 0 ? all : one;
}
