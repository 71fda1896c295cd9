import { createHash } from 'node:crypto';
import { Query, type QueryConfig, type QueryResult, types as driverTypes, Client, type ClientConfig } from 'pg';
import type { ExecuteOptions, ExecuteResult } from '../core/contract.js';
import { isPlain } from '../sql/control-statements.js';
import { leavesSessionState } from './session-state.js';
import { startTimer, within } from '../core/clock.js';
import type { Wire } from '../pool/driver.js';
import { isStale, mayBeStale, schemaChanged, staleStatement, unconfirmed } from './errors.js';
import type { PostgresSettings, TargetSessionAttrs } from './options.js';
import { requestCancel, resultOfPg, safeTypes, serverResponds } from './protocol.js';

/** What the driver hands over but does not declare. */
interface CopyingConnection {
  sendCopyFail(why: string): void;
  sync(): void;
}

const declaredNowhere = Query.prototype as unknown as { hasBeenParsed(connection: unknown): unknown };

/**
 * The driver's own statement, made without options where there are none: of options it would first make a copy, property by
 * property, and that costs as much as sending the statement.
 */
export class Statement extends Query {
  /** Named, the server parses and plans it once per connection. */
  name: string | undefined = undefined;
  /** A user's: the extended protocol takes one statement only, with parameters or without. */
  queryMode: 'extended' | undefined = undefined;
  /** The server was asked to run what it had parsed before. */
  reused = false;

  constructor(text: string, params: readonly unknown[] | undefined, options?: ExecuteOptions) {
    const hasOptions = options?.types !== undefined || options?.rowMode === 'array';
    super(
      hasOptions ? (configOf(text, params, options) as QueryConfig) : text,
      hasOptions ? undefined : (params as unknown[]),
    );
    if (params) this.queryMode = 'extended';
  }

  declare readonly text: string;
  declare callback: (error: Error | undefined, result: QueryResult) => void;

  hasBeenParsed(connection: unknown): boolean {
    return (this.reused = Boolean(declaredNowhere.hasBeenParsed.call(this, connection)));
  }

  /** The server has passed over the Sync that came with the COPY, and after a failure reads nothing before another. */
  handleCopyInResponse(connection: CopyingConnection): void {
    connection.sendCopyFail('query() has nothing to copy from');
    connection.sync();
  }
}

function configOf(text: string, params: readonly unknown[] | undefined, { rowMode, types }: ExecuteOptions): object {
  const parsers = types && { types: safeTypes(types, driverTypes) };
  return { text, values: params, rowMode, ...parsers };
}

/** The server and the driver keep every name for as long as the connection is open, so only so many are given. */
const MOST_NAMES = 500;

/**
 * Gives each statement text one name, so that the server parses and plans it once per connection. The name is made from
 * the text: behind a pooler that mixes up the connections of several programs, it can be missing, but never be another's.
 */
export class StatementNames {
  readonly #names = new Map<string, string>();
  /** How often a text was renewed. */
  readonly #renewals = new Map<string, number>();
  #given = 0;

  nameOf(sql: string): string | undefined {
    const known = this.#names.get(sql);
    if (known !== undefined) return known;
    if (this.#given >= MOST_NAMES || !isPlain(sql) || leavesSessionState(sql)) return undefined;
    const renewals = this.#renewals.get(sql);
    const hash = createHash('sha256').update(sql).digest('hex').slice(0, 32);
    const name = renewals === undefined ? `ambit_${hash}` : `ambit_${hash}_${renewals}`;
    this.#names.set(sql, name);
    this.#given += 1;
    return name;
  }

  /** What the server has prepared under the name no longer fits its tables: every connection prepares it again. */
  renew(sql: string): void {
    if (this.#names.delete(sql)) this.#renewals.set(sql, (this.#renewals.get(sql) ?? 0) + 1);
  }
}

/** Fields of the driver that it does not declare. */
type DriverClient = Client & {
  readonly processID: number;
  readonly secretKey: number;
  readonly connection: {
    readonly stream: { destroy(): void };
    on(event: 'parameterStatus', listener: (status: { parameterName: string; parameterValue: string }) => void): void;
  };
};

/** The server function that waits for synchronous standbys; its name is the same in every language. */
const WAIT_FOR_STANDBYS = 'SyncRepWaitForLSN';

/** What a server says of itself, where it does: PostgreSQL from version 14 on reports it, and every change of it. */
interface Role {
  readonly standby: boolean | undefined;
  readonly readOnly: boolean | undefined;
}

/** What is not known is not enough. */
const FITS: Readonly<Record<TargetSessionAttrs, (role: Role) => boolean>> = {
  any: () => true,
  'read-write': ({ readOnly }) => readOnly === false,
  'read-only': ({ readOnly }) => readOnly === true,
  primary: ({ standby }) => standby === false,
  standby: ({ standby }) => standby === true,
  'prefer-standby': () => true,
};

/** What the sessions of a pool share, and where they are kept. */
export interface SessionOwner {
  readonly settings: PostgresSettings;
  readonly names: StatementNames | undefined;
  /** The connection broke, whether it is in use or not. */
  onDeath(session: Session, error?: Error): void;
  onRelease(session: Session, possiblyBroken: boolean): void;
}

const nothing = (): void => undefined;

/** One connection to the server, and what is known of it. Only this file and `statement.ts` use undeclared fields of the driver. */
export class Session implements Wire {
  readonly client: DriverClient;
  isLost = false;
  /** What the server said before it hung up, or what became of the socket. */
  lostBecause: unknown = undefined;
  checkedOutAt = 0;
  stopIdleTimer: () => void = nothing;
  readonly #owner: SessionOwner;
  /** A COMMIT may have been cancelled, by us or while the server waited for a standby, which it reports with a warning only. */
  #unconfirmed = false;
  /** It is not used again, whatever its user says. */
  #isBroken = false;
  #isClosing = false;
  #standby: boolean | undefined = undefined;
  #readOnlyByDefault: boolean | undefined = undefined;

  constructor(config: ClientConfig, owner: SessionOwner) {
    this.#owner = owner;
    this.client = new Client(config) as unknown as DriverClient;
    // Without an 'error' listener, a client whose connection breaks crashes the process.
    this.client.on('error', (error) => this.#die(error));
    this.client.on('end', () => this.#die());
    this.client.on('notice', ({ routine }) => {
      if (routine === WAIT_FOR_STANDBYS) this.#unconfirmed = true;
    });
    this.client.connection.on('parameterStatus', ({ parameterName: name, parameterValue: value }) => {
      if (name === 'in_hot_standby') this.#standby = value === 'on';
      else if (name === 'default_transaction_read_only') this.#readOnlyByDefault = value === 'on';
    });
  }

  /** A statement then commits by itself. */
  get outsideTransaction(): boolean {
    return this.client.getTransactionStatus() === 'I';
  }

  send(text: string, params?: readonly unknown[], options?: ExecuteOptions): Promise<ExecuteResult<never>> {
    const statement = new Statement(text, params, options);
    if (params && options?.prepare !== false) statement.name = this.#owner.names?.nameOf(text);
    // A user's statement outside of a transaction commits by itself.
    const commits = params ? this.outsideTransaction : text === 'COMMIT';
    return new Promise((resolve, reject) => {
      const stopTimer = this.#limitStatement();
      // As an argument: assigned here, the callback keeps the rows until they are promoted to the old generation (decision 0003).
      this.client.query(statement, (error, result) => {
        stopTimer();
        if (!error && commits && this.#unconfirmed) reject(unconfirmed());
        else if (!error) resolve(options ? resultOfPg(result) : (result as QueryResult<never>));
        else if (params && commits && mayBeStale(error, statement)) resolve(this.#sendAgain(text, params, options));
        else reject(this.#failure(error, statement));
      });
    });
  }

  /** Asks the server to cancel the statement in progress. */
  cancel(): void {
    if (this.#isClosing) return;
    this.#isBroken = this.#unconfirmed = true;
    const { host, port, processID, secretKey } = this.client;
    requestCancel({ host, port, processId: processID, secretKey }, this.#owner.settings.cancelGraceMs);
  }

  release(possiblyBroken: boolean): void {
    this.#isClosing = possiblyBroken || this.#isBroken || !this.outsideTransaction;
    this.#owner.onRelease(this, this.#isClosing);
  }

  /**
   * Whether the connection may be handed out. Where nothing was asked of the servers, one that is known to take no writes
   * serves only a caller who will not write.
   */
  fits(target: TargetSessionAttrs | undefined, forReading: boolean): boolean {
    const standby = this.#standby;
    const readOnly = standby ? true : this.#readOnlyByDefault;
    return target === undefined ? forReading || readOnly !== true : FITS[target]({ standby, readOnly });
  }

  /** Asks the server itself: what a pooler reports can be out of date, and older servers report nothing. */
  async askRole(ms: number): Promise<void> {
    const sql = "SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS read_only";
    const { rows } = await this.#inTime(ms, this.client.query<{ standby: boolean; read_only: boolean }>(sql));
    this.#standby = rows[0]?.standby;
    this.#readOnlyByDefault = rows[0]?.read_only;
  }

  /** Whether the server responds. */
  async responds(ms: number): Promise<boolean> {
    try {
      await this.#inTime(ms, this.client.query('SELECT 1'));
      return true;
    } catch {
      return false;
    }
  }

  /** Closes the connection, and cuts it where the server does not react. Never rejects. */
  async end(ms: number): Promise<void> {
    try {
      await this.#inTime(ms, this.client.end());
    } catch {
      this.cut();
    }
  }

  /** The driver then rejects the statement in progress, which it would otherwise wait for forever. */
  cut(): void {
    this.isLost = true;
    this.client.connection.stream.destroy();
  }

  /**
   * Limits the time of a statement, until the function returned is called. While the server sends nothing, it is asked now
   * and then on another socket whether it is there, and the connection is cut where it is not: it has frozen, or its machine
   * is down. At the query limit the statement is cancelled, and soon after that the connection is cut.
   */
  #limitStatement(): () => void {
    const { clock, queryTimeoutMs, silentAfterMs, cancelGraceMs } = this.#owner.settings;
    let isOver = false;
    const wait = (leftMs: number): (() => void) =>
      silentAfterMs < leftMs
        ? startTimer(clock, () => look(leftMs - silentAfterMs), silentAfterMs)
        : startTimer(clock, timeOut, leftMs);
    const look = (leftMs: number): void => {
      stopTimer = wait(leftMs);
      void serverResponds(this.client, silentAfterMs).then((responds) => {
        if (!responds && !isOver) this.cut();
      });
    };
    const timeOut = (): void => {
      this.cancel();
      stopTimer = startTimer(clock, () => this.cut(), cancelGraceMs);
    };
    let stopTimer = wait(queryTimeoutMs);
    return () => {
      isOver = true;
      stopTimer();
    };
  }

  /**
   * Without the prepared statement, which may no longer fit its tables. Outside of a transaction nothing was done, so the
   * statement can be run again.
   */
  async #sendAgain(
    text: string,
    params: readonly unknown[],
    options: ExecuteOptions | undefined,
  ): Promise<ExecuteResult<never>> {
    const result = await this.send(text, params, { ...options, prepare: false });
    this.#replaceStatement(text);
    return result;
  }

  /** Every other connection prepares it again under a new name; this one still has the old name, too. */
  #replaceStatement(text: string): void {
    this.#owner.names?.renew(text);
    this.#isBroken = true;
  }

  #failure(error: Error, statement: Statement): Error {
    if (isStale(error, statement)) {
      this.#replaceStatement(statement.text);
      return staleStatement(error);
    }
    if (schemaChanged(error, statement)) this.#isBroken = true;
    return error;
  }

  #die(error?: Error): void {
    this.isLost = true;
    this.lostBecause ??= error;
    this.#owner.onDeath(this, error);
  }

  #inTime<T>(ms: number, promise: Promise<T>): Promise<T> {
    const { clock } = this.#owner.settings;
    return within(clock, ms, promise, () => new Error(`PostgreSQL did not respond within ${ms} ms`));
  }
}
