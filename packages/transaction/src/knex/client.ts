import { Readable, type Writable } from 'node:stream';
import knex, { type Knex } from 'knex';
import { TransactionError } from '../core/errors.js';
import type { Transaction } from '../transaction/transaction.js';
import { CarriedError, KnexConnection } from './connection.js';

/** The SQL that Knex writes, by the names that Knex gives its drivers. */
export type KnexClientName = 'pg' | 'sqlite3';

export interface ScopedConfig extends Knex.Config {
  readonly transaction: Transaction;
}

interface KnexQuery {
  readonly sql: string;
  readonly bindings?: readonly unknown[];
}

interface TransactionConfig {
  readonly isolationLevel?: string;
  readonly readOnly?: boolean;
}

type Container = (trx: Knex.Transaction) => unknown;

/** Methods of Knex's clients that its types do not declare. Checked with Knex 3.3. */
interface UndeclaredMethods {
  _stream(connection: KnexConnection, query: KnexQuery, target: Writable, options?: object): Promise<void>;
}

type ClientClass = new (config: Knex.Config) => Knex.Client & UndeclaredMethods;

const ROWS_AT_A_TIME = 100;

/** Knex's own class of a dialect, which is in none of its exports. Without a `connection` it loads no driver. */
function dialectClass(client: KnexClientName): ClientClass {
  const instance = knex({ client, useNullAsDefault: true });
  return (instance.client as object).constructor as ClientClass;
}

/** A client of Knex that has the connection of one transaction in place of a pool. */
function scopedClient(name: KnexClientName): ClientClass {
  class ScopedClient extends dialectClass(name) {
    declare config: ScopedConfig;

    override async acquireConnection(): Promise<KnexConnection> {
      return new KnexConnection(this.config.transaction);
    }

    override async releaseConnection(): Promise<void> {}

    /** The connection belongs to the transaction. */
    override async destroy(callback?: () => void): Promise<void> {
      callback?.();
    }

    /** A transaction of Knex has a connection, and so a nested run, of its own. */
    override transaction(container: Container, config: TransactionConfig, outer: unknown): Knex.Transaction {
      const { isolationLevel: isolation, readOnly } = config;
      const connection = new KnexConnection(this.config.transaction, { isolation, readOnly });
      const options = { ...config, connection, isolationLevel: undefined, readOnly: undefined };
      const work = (trx: Knex.Transaction): unknown => connection.savepoint.within(() => container(trx));
      return super.transaction(work, options, outer);
    }

    /** Only a transaction of Knex itself passes a string: to begin, commit or roll back. */
    override async query(connection: KnexConnection, query: KnexQuery | string): Promise<unknown> {
      if (typeof query === 'string') return control(connection, query);
      try {
        return await super.query(connection, query);
      } catch (error) {
        throw error instanceof CarriedError ? error.error : error;
      }
    }

    /** `IConnection` takes `$1 ... $n` on every database; `\?` is a question mark. */
    override positionBindings(sql: string): string {
      let count = 0;
      return sql.replaceAll(/\\?\?/g, (match) => (match === '\\?' ? '?' : `$${(count += 1)}`));
    }

    override async _stream(
      connection: KnexConnection,
      { sql, bindings = [] }: KnexQuery,
      target: Writable,
      { batchSize = ROWS_AT_A_TIME }: { batchSize?: number } = {},
    ): Promise<void> {
      // Only PostgreSQL has cursors.
      const source = Readable.from(connection.rows(sql, bindings, name === 'pg' ? batchSize : undefined));
      await new Promise<void>((resolve, reject) => {
        source.on('error', (error) => {
          reject(error);
          if (!target.destroyed) target.emit('error', error);
        });
        source.on('close', resolve);
        source.pipe(target);
      });
    }
  }
  // Another connection would have to cancel it; a rollback of the whole transaction does.
  ScopedClient.prototype.canCancelQuery = false;
  return ScopedClient;
}

/** Made when first used, so that nobody loads a dialect that they do not use. */
const classes = new Map<KnexClientName, ClientClass>();

export function scopedClientOf(name: KnexClientName): ClientClass {
  const known = classes.get(name) ?? scopedClient(name);
  classes.set(name, known);
  return known;
}

async function control({ savepoint, terms }: KnexConnection, sql: string): Promise<void> {
  if (/^(?:BEGIN|SAVEPOINT)\b/.test(sql)) return savepoint.begin(terms);
  if (/^ROLLBACK\b/.test(sql)) return savepoint.undo();
  if (!/^(?:COMMIT|RELEASE)\b/.test(sql)) throw unknownStatement();
  try {
    await savepoint.release();
  } catch (error) {
    // Knex sends no ROLLBACK after a COMMIT that failed.
    await savepoint.undo();
    throw error;
  }
}

function unknownStatement(): TransactionError {
  return new TransactionError(
    'AMBIT_TX_CONTROL_STATEMENT',
    'Knex sent a statement that controls a transaction in a way unknown here',
  );
}
