import { Client, type ClientConfig } from 'pg';
import { startTimer, within } from '../clock.js';
import { TransactionError } from '../errors.js';
import { given } from '../options.js';
import type { PostgresSettings } from './options.js';

/** What the driver knows but does not declare. */
type DriverClient = Client & {
  readonly processID: number;
  readonly secretKey: number;
  readonly connection: { readonly stream: { destroy(): void } };
};

/** How long a server may take to say goodbye; one that is gone never will. */
const GOODBYE_MS = 1000;

/** One connection to the server, and whether it still is one. */
export interface Session {
  readonly client: DriverClient;
  died: boolean;
  callOffIdling: () => void;
}

const nothing = (): void => undefined;

/** The connections of a pool that nobody uses, and how new ones are made. How many there may be is not known here. */
export class Clients {
  readonly #settings: PostgresSettings;
  readonly #config: ClientConfig;
  /** The one used last is used next, so that a quiet time closes the others. */
  readonly #idle: Session[] = [];
  readonly #connecting = new Set<Session>();
  readonly #leaving = new Set<Promise<void>>();
  #open = 0;
  #ended = false;

  constructor(settings: PostgresSettings) {
    this.#settings = settings;
    this.#config = driverConfig(settings);
  }

  /** Those being made included. */
  get open(): number {
    return this.#open;
  }

  get idle(): number {
    return this.#idle.length;
  }

  take(): Session | undefined {
    const session = this.#idle.pop();
    session?.callOffIdling();
    return session;
  }

  async connect(): Promise<Session> {
    const client = new Client(this.#config) as DriverClient;
    const session: Session = { client, died: false, callOffIdling: nothing };
    // A client without an 'error' listener takes the process down when its backend dies, so each has one for life.
    client.on('error', (error) => this.#died(session, error));
    client.on('end', () => this.#died(session));
    this.#open += 1;
    this.#connecting.add(session);
    try {
      await client.connect();
      if (this.#ended) throw new TransactionError('AMBIT_TX_POOL_CLOSED', 'The pool was closed meanwhile');
      return session;
    } catch (error) {
      this.#close(session);
      throw error;
    } finally {
      this.#connecting.delete(session);
    }
  }

  /** For the next borrower, unless something is in doubt. */
  giveBack(session: Session, { inDoubt = false } = {}): void {
    if (inDoubt || session.died || this.#ended) return this.#close(session);
    const { clock, idleTimeoutMs } = this.#settings;
    session.callOffIdling = startTimer(clock, () => this.#forget(session), idleTimeoutMs);
    this.#idle.push(session);
  }

  /** Resolves when all have left the server, or it no longer answers. */
  async end(): Promise<void> {
    this.#ended = true;
    for (const session of this.#connecting) cut(session);
    for (let session = this.take(); session; session = this.take()) this.#close(session);
    while (this.#leaving.size > 0) await Promise.all(this.#leaving);
  }

  #died(session: Session, error?: Error): void {
    session.died = true;
    if (!this.#forget(session) || !error) return;
    // Whatever it throws or rejects with would end the process, and is about a connection that nobody misses.
    (async () => this.#settings.onError(error))().catch(nothing);
  }

  /** Closes one that is idle; tells whether it was. */
  #forget(session: Session): boolean {
    const place = this.#idle.indexOf(session);
    if (place === -1) return false;
    this.#idle.splice(place, 1);
    session.callOffIdling();
    this.#close(session);
    return true;
  }

  #close(session: Session): void {
    this.#open -= 1;
    const leaving = this.#sayGoodbye(session).then(() => void this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
  }

  /** Never rejects: whoever gives a connection back must not hear that it was gone already. */
  async #sayGoodbye(session: Session): Promise<void> {
    try {
      await within(this.#settings.clock, GOODBYE_MS, session.client.end(), () => new Error('overdue'));
    } catch {
      cut(session);
    }
  }
}

/** The driver then fails what is under way. It would wait for ever where it does not know that something is. */
export function cut(session: Session): void {
  session.died = true;
  session.client.connection.stream.destroy();
}

function driverConfig(settings: PostgresSettings): ClientConfig {
  const { connectionString, host, port, user, password, database, ssl, applicationName, statementTimeoutMs } = settings;
  const asked = {
    connectionString,
    host,
    port,
    user,
    password,
    database,
    ssl,
    application_name: applicationName,
    statement_timeout: statementTimeoutMs === undefined ? undefined : orNever(statementTimeoutMs),
  };
  return {
    // An option given as undefined would hide what the connection string or the environment says.
    ...given(asked),
    connectionTimeoutMillis: orNever(settings.connectTimeoutMs),
    keepAlive: true,
  };
}

/** The driver says "never" with 0. */
function orNever(ms: number): number {
  return ms >= 2 ** 31 ? 0 : ms;
}
