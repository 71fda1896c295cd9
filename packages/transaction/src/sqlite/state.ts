import { ask, type SqliteEngine } from './engine.js';

/** Settings of a connection that SQLite both tells and sets. */
const SETTINGS = [
  'query_only',
  'analysis_limit',
  'automatic_index',
  'busy_timeout',
  'cache_size',
  'cache_spill',
  'cell_size_check',
  'defer_foreign_keys',
  'foreign_keys',
  'fullfsync',
  'ignore_check_constraints',
  'legacy_alter_table',
  'locking_mode',
  'mmap_size',
  'read_uncommitted',
  'recursive_triggers',
  'reverse_unordered_selects',
  'secure_delete',
  'synchronous',
  'temp_store',
  'threads',
  'trusted_schema',
  'wal_autocheckpoint',
  'writable_schema',
];
const RESTORED = new RegExp(String.raw`\b(?:${SETTINGS.join('|')})\b`, 'i');
const PRAGMA = /\bpragma\b/i;

/** True if {@link ConnectionState} can undo a statement that changes its connection. */
export function canBeUndone(sql: string): boolean {
  return !PRAGMA.test(sql) || RESTORED.test(sql);
}

/** Everything that a connection has besides the data of its database, so that it can be put back before the next user. */
export class ConnectionState {
  readonly #settings: ReadonlyMap<string, unknown>;
  readonly #attached: ReadonlyMap<string, string>;
  readonly #temporary: ReadonlySet<string>;

  /** @param isReadOnly - the connection has query_only from the pool, for as long as its user has it */
  constructor(engine: SqliteEngine, isReadOnly: boolean) {
    const settings = SETTINGS.map((name) => [name, ask(engine, `PRAGMA ${name}`)] as const);
    this.#settings = new Map(isReadOnly ? settings.slice(1) : settings);
    this.#attached = attachedTo(engine);
    this.#temporary = new Set(temporaryIn(engine));
  }

  restore(engine: SqliteEngine): void {
    for (const [name, value] of this.#settings) {
      if (ask(engine, `PRAGMA ${name}`) !== value) engine.exec(`PRAGMA ${name} = ${String(value)}`);
    }
    const attached = attachedTo(engine);
    for (const name of attached.keys()) if (!this.#attached.has(name)) engine.exec(`DETACH ${quoted(name)}`);
    for (const [name, file] of this.#attached) {
      if (!attached.has(name)) engine.exec(`ATTACH ${quoted(file)} AS ${quoted(name)}`);
    }
    for (const item of temporaryIn(engine)) if (!this.#temporary.has(item)) engine.exec(`DROP ${item}`);
  }
}

function attachedTo(engine: SqliteEngine): ReadonlyMap<string, string> {
  const rows = engine.prepare('PRAGMA database_list').all([]) as [number: unknown, name: string, file: string][];
  // SQLite adds and keeps `temp` by itself.
  return new Map(rows.filter(([, name]) => name !== 'temp').map(([, name, file]) => [name, file]));
}

/** As DROP names them; indexes and triggers may go with their table. */
function temporaryIn(engine: SqliteEngine): readonly string[] {
  const sql =
    "SELECT type, name FROM sqlite_temp_master WHERE type <> 'index' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
  const rows = engine.prepare(sql).all([]) as [type: string, name: string][];
  return rows.map(([type, name]) => `${type} IF EXISTS temp.${quoted(name)}`);
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
