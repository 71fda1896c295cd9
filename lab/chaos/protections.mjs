import { ProtectedMariadb, ProtectedPostgres, ProtectedSqlite } from './protected.mjs';

/** @typedef {'kill' | 'power' | 'disk' | 'mistake'} Failure */

/**
 * @typedef {object} Protection
 * @property {string} name
 * @property {import('../kit/databases.mjs').DatabaseKind} database
 * @property {readonly Failure[]} tried
 * @property {readonly Failure[]} keeps the failures that lose nothing acknowledged
 * @property {boolean} [mayBreak] the database may not even start again
 * @property {(disk: string, copies: string) => import('./protected.mjs').ProtectedDatabase | Promise<import('./protected.mjs').ProtectedDatabase>} open
 */

const NORMAL = { NODE_OPTIONS: `--import=${new URL('synchronous-normal.mjs', import.meta.url).href}` };

/**
 * @template Options
 * @param {import('../kit/databases.mjs').DatabaseKind} database
 * @param {string} title
 * @param {(disk: string, copies: string, options?: Options) => ReturnType<Protection['open']>} open
 */
function protectionsOf(database, title, open) {
  /**
   * @param {string} name
   * @param {Pick<Protection, 'tried' | 'keeps' | 'mayBreak'>} rules
   * @param {Options} [options]
   * @returns {Protection}
   */
  return (name, rules, options) => ({
    name: `${title}, ${name}`,
    database,
    ...rules,
    open: (disk, copies) => open(disk, copies, options),
  });
}

const sqlite = protectionsOf(
  'sqlite',
  'SQLite',
  (/** @type {ConstructorParameters<typeof ProtectedSqlite>} */ ...args) => new ProtectedSqlite(...args),
);
const postgres = protectionsOf(
  'postgres',
  'PostgreSQL',
  (/** @type {Parameters<typeof ProtectedPostgres.open>} */ ...args) => ProtectedPostgres.open(...args),
);
const mariadb = protectionsOf('mariadb', 'MariaDB', (/** @type {Parameters<typeof ProtectedMariadb.open>} */ ...args) =>
  ProtectedMariadb.open(...args),
);

/** @type {readonly Protection[]} */
export const PROTECTIONS = [
  sqlite('`synchronous = FULL`', { tried: ['kill', 'power'], keeps: ['kill', 'power'] }),
  sqlite('`synchronous = NORMAL`', { tried: ['kill', 'power'], keeps: ['kill'] }, { env: NORMAL }),
  sqlite('Litestream', { tried: ['disk', 'mistake'], keeps: ['mistake'] }, { litestream: true }),
  postgres('as installed', { tried: ['kill', 'power'], keeps: ['kill', 'power'] }),
  postgres(
    '`synchronous_commit = off`',
    { tried: ['kill', 'power'], keeps: [] },
    { settings: { synchronous_commit: 'off' } },
  ),
  postgres(
    '`fsync = off`',
    { tried: ['kill', 'power'], keeps: ['kill'], mayBreak: true },
    { settings: { fsync: 'off' } },
  ),
  postgres('asynchronous standby', { tried: ['disk'], keeps: [] }, { copy: 'standby' }),
  postgres(
    'synchronous standby',
    { tried: ['disk'], keeps: ['disk'] },
    { copy: 'standby', settings: { synchronous_standby_names: '*' } },
  ),
  postgres(
    'synchronous standby, `synchronous_commit = local`',
    { tried: ['disk'], keeps: [] },
    { copy: 'standby', settings: { synchronous_standby_names: '*', synchronous_commit: 'local' } },
  ),
  postgres('archive, `archive_timeout = 1s`', { tried: ['disk', 'mistake'], keeps: ['mistake'] }, { copy: 'archive' }),
  mariadb('as installed', { tried: ['kill', 'power'], keeps: ['kill', 'power'] }),
  mariadb(
    '`innodb_flush_log_at_trx_commit = 2`',
    { tried: ['kill', 'power'], keeps: ['kill'] },
    { settings: { 'innodb-flush-log-at-trx-commit': '2' } },
  ),
  mariadb(
    '`innodb_flush_log_at_trx_commit = 0`',
    { tried: ['kill', 'power'], keeps: [] },
    { settings: { 'innodb-flush-log-at-trx-commit': '0' } },
  ),
  mariadb('`log_bin`', { tried: ['kill', 'power'], keeps: ['kill'] }, { settings: { 'log-bin': 'log' } }),
  mariadb(
    '`log_bin`, `sync_binlog = 1`',
    { tried: ['kill', 'power'], keeps: ['kill', 'power'] },
    { settings: { 'log-bin': 'log', 'sync-binlog': '1' } },
  ),
  mariadb('asynchronous replica', { tried: ['disk'], keeps: [] }, { replica: 'asynchronous' }),
  mariadb('semi-synchronous replica', { tried: ['disk'], keeps: ['disk'] }, { replica: 'semi-synchronous' }),
];
