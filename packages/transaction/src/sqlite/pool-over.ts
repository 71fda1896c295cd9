import type { DatabasePool } from '../contract.js';
import { type DriverPoolOptions, readDriverOptions } from '../pool/options.js';
import { Pool } from '../pool/pool.js';
import { SqliteConnection } from './connection.js';
import { ask, KEEP_TO_ITSELF, losesCommits, type SqliteEngine, warnOfLosses } from './engine.js';
import { retryIfBusy } from './errors.js';
import { WatchedFile } from './file.js';
import { SQLITE_LANGUAGE } from './language.js';

/**
 * The pool over a connection of a driver that calls SQLite directly, handed out in turn.
 *
 * @param engine - the open database; `close()` of the pool closes it, unless `keepOpen` is set
 * @param options - who may wait for the connection, and for how long
 * @returns a pool with the guarantees of docs/guides/databases.md
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
 */
export function sqlitePoolOver(engine: SqliteEngine, options: DriverPoolOptions): DatabasePool {
  const settings = readDriverOptions(options);
  const { clock, acquireTimeoutMs } = settings;
  const path = engine.prepare('PRAGMA database_list').all([])[0]?.[2];
  const file = typeof path === 'string' && path !== '' ? new WatchedFile(path, clock) : undefined;
  let isChecked = file === undefined;
  // Even the version cannot be read while another process recovers or closes the file, so that the first user of the pool asks for it, who may wait.
  const check = (): void => {
    const version = String(ask(engine, 'SELECT sqlite_version()'));
    if (losesCommits(version) && ask(engine, 'PRAGMA journal_mode') === 'wal') {
      warnOfLosses(version);
      engine.exec(KEEP_TO_ITSELF);
    }
    isChecked = true;
  };
  const connection = new SqliteConnection(engine, { clock, file });
  return new Pool(
    {
      language: SQLITE_LANGUAGE,
      max: 1,
      connect: ({ timeoutMs = acquireTimeoutMs }) => {
        const connect = (): SqliteConnection => {
          if (!isChecked) check();
          return connection.checkOut(timeoutMs);
        };
        try {
          return connect();
        } catch (busy) {
          return retryIfBusy(connect, busy, { clock, timeoutMs });
        }
      },
      close: async () => connection.close(),
    },
    settings,
  );
}
