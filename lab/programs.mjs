/**
 * @typedef {object} Program
 * @property {string} file
 * @property {string} what
 * @property {readonly string[]} short its options for the shortest run that says something
 * @property {boolean} [installs] it needs what package-lock.json of this folder has
 * @property {readonly string[]} [prepare] programs that run before it, on what others install
 * @property {string} [node] the version that it needs
 * @property {boolean} [often] CI runs its short form, because it has found most
 */

/** @type {Readonly<Record<string, Program>>} */
export const PROGRAMS = {
  kills: {
    file: 'chaos/kills.mjs',
    what: 'everything is killed under load, connections are cut at COMMIT: nothing acknowledged is lost',
    short: ['--seconds', '42', '--kills', '2'],
    often: true,
  },
  galera: {
    file: 'failover/galera.mjs',
    what: 'three nodes of MariaDB Galera are killed and cut off from each other',
    short: ['--short'],
  },
  pieces: {
    file: 'floods/pieces.mjs',
    what: 'bodies and heads that come in pieces of one byte: no server dies',
    short: ['--heaps', '128', '--clients', '1'],
    often: true,
  },
  'sqlite-two-processes': {
    file: 'floods/sqlite-two-processes.mjs',
    what: 'several processes use one SQLite file on a busy machine',
    short: ['--seconds', '4', '--node', '20,24'],
    often: true,
  },
  fuzz: {
    file: 'fuzz/fuzz.mjs',
    what: 'texts that nobody thought of, for everything that reads foreign bytes, beside other readers of them',
    // One seed, so that a commit fails for what it changed; `--all` draws its own.
    short: ['--runs', '500', '--seed', '1'],
    installs: true,
    often: true,
  },
  histories: {
    file: '../test/histories/histories.mjs',
    what: 'random transactions through every pool and ORM, checked for the anomalies that their level forbids',
    short: ['--short', '--except', 'Prisma'],
    prepare: ['test/libraries/prepare.mjs', 'test/orm/prisma/prepare.mjs'],
    node: '24',
  },
  'hostile-load': {
    file: 'chaos/hostile-load.mjs',
    what: 'attacks on a service with a small heap, beside clients that mean well',
    short: ['--seconds', '2', '--host', 'fastify', '--database', 'sqlite'],
  },
  instances: {
    file: 'instances/instances.mjs',
    what: 'two instances on one database, behind HAProxy and PgBouncer as in deploy/',
    short: [],
  },
  rollouts: {
    file: 'instances/rollouts.mjs',
    what: 'rolling restarts as Kubernetes does them: no request fails that may be repeated',
    short: ['--database', 'postgres', '--host', 'fastify'],
  },
  failover: {
    file: 'failover/failover.mjs',
    what: 'the primary of PostgreSQL goes away, behind HAProxy and PgBouncer',
    short: ['--only', 'kill -9 of'],
  },
};
