import { Client, type ClientConfig } from 'pg';
import { type Clock, within } from '../core/clock.js';
import type { Role } from './servers.js';

/** What the driver knows but does not declare. */
type DriverClient = Client & {
  readonly processID: number;
  readonly secretKey: number;
  readonly connection: {
    readonly stream: { destroy(): void };
    on(event: 'parameterStatus', listener: (status: { parameterName: string; parameterValue: string }) => void): void;
  };
};

/** The function of the server that waits for synchronous standbys; its name is the same in every language. */
const WAIT_FOR_STANDBYS = 'SyncRepWaitForLSN';

const nothing = (): void => undefined;

/** One connection to the server, and what is known of it. The only file that uses what the driver does not declare. */
export class Session {
  readonly client: DriverClient;
  died = false;
  /** Set when the server gave up waiting for a standby: it then reports the commit as a success, with a warning only. */
  unconfirmed = false;
  checkedOutAt = 0;
  stopIdleTimer: () => void = nothing;
  #standby: boolean | undefined = undefined;
  #readOnlyByDefault: boolean | undefined = undefined;

  constructor(config: ClientConfig, onDeath: (session: Session, error?: Error) => void) {
    this.client = new Client(config) as unknown as DriverClient;
    // A client without an 'error' listener ends the process when its connection breaks, so it keeps this one.
    this.client.on('error', (error) => this.#die(onDeath, error));
    this.client.on('end', () => this.#die(onDeath));
    this.client.on('notice', ({ routine }) => {
      if (routine === WAIT_FOR_STANDBYS) this.unconfirmed = true;
    });
    this.client.connection.on('parameterStatus', ({ parameterName: name, parameterValue: value }) => {
      if (name === 'in_hot_standby') this.#standby = value === 'on';
      else if (name === 'default_transaction_read_only') this.#readOnlyByDefault = value === 'on';
    });
  }

  get role(): Role {
    return { standby: this.#standby, readOnly: this.#standby ? true : this.#readOnlyByDefault };
  }

  /** Whether no transaction is open; a statement then commits by itself. */
  get outsideTransaction(): boolean {
    return this.client.getTransactionStatus() === 'I';
  }

  /** Asks the server itself: what a pooler reports can be out of date, and older servers report nothing. */
  async askRole(clock: Clock, ms: number): Promise<void> {
    const sql = "SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS read_only";
    const { rows } = await this.#inTime(clock, ms, this.client.query<{ standby: boolean; read_only: boolean }>(sql));
    this.#standby = rows[0]?.standby;
    this.#readOnlyByDefault = rows[0]?.read_only;
  }

  /** Whether the other side is there. */
  async answers(clock: Clock, ms: number): Promise<boolean> {
    try {
      await this.#inTime(clock, ms, this.client.query('SELECT 1'));
      return true;
    } catch {
      return false;
    }
  }

  /** Says goodbye, and cuts the connection where the server does not react. Never rejects. */
  async end(clock: Clock, ms: number): Promise<void> {
    try {
      await this.#inTime(clock, ms, this.client.end());
    } catch {
      this.cut();
    }
  }

  /** The driver then rejects what is in progress. It would wait forever where it does not know that something is. */
  cut(): void {
    this.died = true;
    this.client.connection.stream.destroy();
  }

  #die(onDeath: (session: Session, error?: Error) => void, error?: Error): void {
    this.died = true;
    onDeath(this, error);
  }

  #inTime<T>(clock: Clock, ms: number, promise: Promise<T>): Promise<T> {
    return within(clock, ms, promise, () => new Error(`PostgreSQL did not answer within ${ms} ms`));
  }
}
