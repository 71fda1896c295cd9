import { type ExecuteOptions, type ExecuteResult, TransactionError } from '@ambit/transaction';
import {
  type PgResult,
  requestCancel,
  resultOfPg,
  safeTypes,
  transactionStatusOf,
  type Wire,
} from '@ambit/transaction/extension';

type Listener = (error?: Error) => void;

/** The members of a `PoolClient` of `pg` that the pool uses. */
export interface PgClient {
  /** Sends a statement. */
  query(config: object): Promise<unknown>;
  /** Adds a listener, which tells a lost connection from one that works. */
  on(event: 'error' | 'end', listener: Listener): unknown;
  /** Removes a listener that `on()` has added. */
  removeListener(event: 'error' | 'end', listener: Listener): unknown;
  /** Returns the client to its pool. */
  release(destroy?: boolean): void;
  /** The parser for values of a type, which is used where `types` of `execute()` has none. */
  getTypeParser(oid: number, format?: never): unknown;
}

/** The members of a `Pool` of `pg` that ours uses. */
export interface PgPool {
  /** Checks a client out. */
  connect(): Promise<PgClient>;
  /** Closes all clients. */
  end(): Promise<void>;
  /** Hears of clients whose connection was lost while they were idle, and of those that are checked out. */
  on?(event: 'error' | 'acquire', listener: (errorOrClient: object) => void): unknown;
  /** The options of the pool: `max` is how many clients there may be. Default 10, which is the default of `pg`. */
  readonly options?: { readonly max?: number | undefined };
  /** How many clients exist. */
  readonly totalCount: number;
  /** How many of them are not checked out. */
  readonly idleCount: number;
}

/** Fields that the driver does not declare (pg 8.21): the address of the backend, for a cancel request. */
interface Backend {
  readonly host: string;
  readonly port: number;
  readonly processID?: number | null;
  readonly secretKey?: number | null;
}

const CANCEL_MS = 1000;

/** A statement of `pg`, or of a driver that is made of it. */
type QueryClass = new (config: object) => { requiresPreparation(): boolean };

/** State that outlives the use of a client. */
interface Known {
  /** Its report while nobody had checked it out. */
  lostBecause: Error | undefined;
  readonly status: () => string | null;
}

export class PgClients {
  readonly #known = new WeakMap<PgClient, Known>();

  of(client: PgClient): Known {
    let known = this.#known.get(client);
    if (!known) {
      const created: Known = { lostBecause: undefined, status: transactionStatusOf(client) };
      client.on('error', (error) => (created.lostBecause = error ?? new Error()));
      this.#known.set(client, (known = created));
    }
    return known;
  }

  /** Without `getTransactionStatus()` only a response says whether the client is in a transaction. */
  async checkedOut(client: PgClient): Promise<Known> {
    const known = this.of(client);
    if (known.status() !== null || known.lostBecause) return known;
    try {
      await client.query({ text: '' });
      if (known.status() === null) throw tooOld();
      return known;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }
}

function tooOld(): TransactionError {
  const what =
    'fromPgPool() needs clients that say whether a transaction is open: pg 8.11 or newer, with pg-native 8.21';
  return new TransactionError('AMBIT_TX_VERSION', what);
}

export class PgWire implements Wire {
  isLost = false;
  lostBecause: unknown = undefined;
  readonly isLeftOpen: boolean;
  readonly #client: PgClient;
  readonly #status: () => string | null;
  readonly #types: object;
  /** Without a listener, a client that breaks while it is checked out crashes the process. */
  readonly #onLost = (error?: Error): void => {
    this.isLost = true;
    this.lostBecause ??= error;
  };

  constructor(client: PgClient, { lostBecause, status }: Known) {
    this.#client = client;
    this.#status = status;
    this.#types = safeTypes(undefined, client);
    if (lostBecause) this.#onLost(lostBecause);
    this.isLeftOpen = !this.isLost && !this.outsideTransaction;
    client.on('error', this.#onLost);
    client.on('end', this.#onLost);
  }

  get outsideTransaction(): boolean {
    return this.#status() === 'I';
  }

  async send(text: string, values?: readonly unknown[], options: ExecuteOptions = {}): Promise<ExecuteResult<never>> {
    const { rowMode, types } = options;
    // The extended protocol takes one statement only.
    const config = values ? { text, values, queryMode: 'extended', rowMode } : { text };
    const parsers = types ? safeTypes(types, this.#client) : this.#types;
    const asked = { ...config, types: parsers };
    const isKnown = values?.length !== 0 || 'getTransactionStatus' in this.#client;
    return resultOfPg((await (isKnown ? this.#client.query(asked) : this.#extended(asked))) as PgResult);
  }

  /** `queryMode` came with `pg` 8.12, and Neon's driver has none; with values the protocol is the extended one by itself. */
  #extended(config: object): Promise<unknown> {
    const { Query } = this.#client.constructor as unknown as { Query: QueryClass };
    const query = Object.assign(new Query(config), { requiresPreparation: () => true });
    return new Promise((resolve, reject) => {
      const settle = (error: Error | null, result: unknown): void => (error ? reject(error) : resolve(result));
      void (this.#client as unknown as { query(query: object, settle: unknown): unknown }).query(query, settle);
    });
  }

  cancel(): void {
    const { host, port, processID, secretKey } = this.#client as unknown as Backend;
    if (processID && secretKey) requestCancel({ host, port, processId: processID, secretKey }, CANCEL_MS);
  }

  release(possiblyBroken: boolean): void {
    this.#client.removeListener('end', this.#onLost);
    // A client that is destroyed may still report an error; one that goes back is watched by its pool again.
    if (!possiblyBroken) this.#client.removeListener('error', this.#onLost);
    this.#client.release(possiblyBroken);
  }
}
