import { ProtectedPostgres, ProtectedSqlite } from './protected.mjs';

/** @typedef {'kill' | 'power' | 'disk'} Failure */

/**
 * @typedef {object} Protection
 * @property {string} name
 * @property {import('./database.mjs').DatabaseKind} database
 * @property {readonly Failure[]} tried
 * @property {readonly Failure[]} keeps the failures that lose nothing acknowledged
 * @property {boolean} [mayBreak] the database may not even start again
 * @property {boolean} [pointInTime] it can be restored to any time
 * @property {(disk: string, copies: string) => ProtectedSqlite | Promise<ProtectedPostgres>} open
 */

const NORMAL = { NODE_OPTIONS: `--import=${new URL('synchronous-normal.mjs', import.meta.url).href}` };

/**
 * @param {string} name
 * @param {Pick<Protection, 'tried' | 'keeps' | 'mayBreak' | 'pointInTime'>} rules
 * @param {ConstructorParameters<typeof ProtectedSqlite>[2]} [options]
 * @returns {Protection}
 */
function sqlite(name, rules, options) {
  const open = (/** @type {string} */ disk, /** @type {string} */ copies) => new ProtectedSqlite(disk, copies, options);
  return { name: `SQLite, ${name}`, database: 'sqlite', ...rules, open };
}

/**
 * @param {string} name
 * @param {Pick<Protection, 'tried' | 'keeps' | 'mayBreak' | 'pointInTime'>} rules
 * @param {Parameters<typeof ProtectedPostgres.open>[2]} [options]
 * @returns {Protection}
 */
function postgres(name, rules, options) {
  const open = (/** @type {string} */ disk, /** @type {string} */ copies) =>
    ProtectedPostgres.open(disk, copies, options);
  return { name: `PostgreSQL, ${name}`, database: 'postgres', ...rules, open };
}

/** @type {readonly Protection[]} */
export const PROTECTIONS = [
  sqlite('`synchronous = FULL`', { tried: ['kill', 'power'], keeps: ['kill', 'power'] }),
  sqlite('`synchronous = NORMAL`', { tried: ['kill', 'power'], keeps: ['kill'] }, { env: NORMAL }),
  sqlite('Litestream', { tried: ['disk'], keeps: [], pointInTime: true }, { litestream: true }),
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
  postgres('archive, `archive_timeout = 1s`', { tried: ['disk'], keeps: [], pointInTime: true }, { copy: 'archive' }),
];
