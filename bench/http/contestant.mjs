/**
 * What a contestant's file exports as `contestant`. The name of the file is its work, host and way, as in
 * `scope-fastify-ambit.mjs`.
 *
 * @typedef {object} Contestant
 * @property {string} title
 * @property {string} [package] its name in the registry, for the version in the report
 * @property {() => Promise<string>} start gives the address of a server that listens
 */

/** What is asked of each contestant, and the answer that proves that it does the work. */
export const works = {
  scope: {
    title: 'a request scope, three services resolved that share one, the scope ended',
    method: 'GET',
    expected: '{"shared":true}',
  },
  transaction: {
    title: 'a transaction around one statement, on a pool that answers at once: the cost of the code around it',
    method: 'POST',
    expected: '{"stored":true}',
  },
};

export const hosts = ['fastify', 'express'];
