/**
 * A way to do a work on a host. It loads what it needs when it starts, so that the bare host runs without anything of the others.
 *
 * @typedef {object} Contestant
 * @property {string} title
 * @property {string} [package] its name in the registry, for the version in the report
 * @property {() => Promise<string>} start gives the address of a server that listens
 *
 * @typedef {Record<'scope' | 'transaction', Record<string, Contestant>>} Contestants those of a host, by work and way
 */

/**
 * The contestant that the query of a file's URL names, as in `fastify.mjs?scope-ambit`.
 *
 * @param {string} url
 * @param {Contestants} contestants
 */
export function chosen(url, contestants) {
  const [work, way] = new URL(url).search.slice(1).split('-');
  return contestants[work]?.[way];
}

/** The request to each contestant, and the response that proves that it does the work. */
export const works = {
  scope: {
    title: 'a request scope, three services resolved that share one, the scope disposed',
    method: 'GET',
    expected: '{"shared":true}',
  },
  transaction: {
    title: 'a transaction around one statement, on an instant pool: the cost of the code around it',
    method: 'POST',
    expected: '{"stored":true}',
  },
};

/** The package of each host: its version is in the report. */
export const hosts = {
  fastify: { title: 'Fastify', package: 'fastify' },
  express: { title: 'Express', package: 'express' },
};
