import { createHash } from 'node:crypto';
import * as library from 'pg';
import type { Client, ClientConfig, QueryConfig, QueryResult } from 'pg';
import { startTimer, within } from '../clock.js';
import type { AcquireOptions, ExecuteOptions, ExecuteResult } from '../contract.js';
import { poolClosed, TransactionError } from '../errors.js';
import type { Driver, Language, Wire } from '../pool/driver.js';
import { isPlain } from '../sql/control-statements.js';
import { withoutLiterals } from '../sql/without-literals.js';
import { Connector } from './connector.js';
import {
  hasNoSpace,
  isReadOnlyRefusal,
  isStale,
  leavesSessionState,
  mayBePrepared,
  noConnection,
  POSTGRES_LANGUAGE,
  readOnlyRefusal,
  staleStatement,
  unconfirmed,
} from './language.js';
import type { PostgresSettings, TargetSessionAttrs } from './options.js';
import { requestCancel, resultOfPg, safeTypes, serverResponds, transactionStatusOf } from './protocol.js';

const nothing = (): void => undefined;

/** Methods of the driver's connection that it does not declare. */
interface CopyingConnection {
  sendCopyFail(why: string): void;
  sync(): void;
}

/**
 * Older versions of `pg` have the default export only, and what a compiler to CommonJS has made of this without `esModuleInterop` finds none.
 */
const pg = (library as { readonly default?: typeof library.default }).default ?? library;

const declaredNowhere = pg.Query.prototype as unknown as {
  hasBeenParsed(connection: unknown): unknown;
  requiresPreparation(): boolean;
};

/**
 * The driver's own statement, made without options where there are none: of options it would first make a copy, property by
 * property, and that costs as much as sending the statement.
 */
export class Statement extends pg.Query {
  /** Named, the server parses and plans it once per connection. */
  name: string | undefined = undefined;
  /** A user's: the extended protocol takes one statement only, with parameters or without. */
  queryMode: 'extended' | undefined = undefined;
  /** True if the server was asked to run a statement that it had parsed before. */
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

  /** `pg` reads `queryMode` from 8.12 on only. */
  requiresPreparation(): boolean {
    return this.queryMode === 'extended' || declaredNowhere.requiresPreparation.call(this);
  }

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
  const parsers = types && { types: safeTypes(types, pg.types) };
  return { text, values: params, rowMode, ...parsers };
}

/** The server and the driver keep every name for as long as the connection is open, so only so many are given. */
const MOST_NAMES = 500;

/** The command and its first table, because instrumentations of `pg` name spans like the prepared statement. Names have 63 bytes at most. */
function wordsOf(sql: string): string {
  const shown = withoutLiterals(sql, { text: '', number: '' });
  const [command = ''] = /[a-z]+/i.exec(shown) ?? [];
  const [, table = ''] = /\b(?:from|into|update)\s+"?(\w+)/i.exec(shown) ?? [];
  return `${command}_${table}`.slice(0, 24);
}

/**
 * Names statements, so that the server parses and plans them once per connection. The name is made from the text: behind a
 * pooler that mixes up the connections of several programs, it can be missing, but never be another's.
 */
export class StatementNames {
  /** Undefined for a text that is parsed each time. */
  readonly #names = new Map<string, string | undefined>();
  readonly #renewals = new Map<string, number>();
  #given = 0;

  nameOf(sql: string): string | undefined {
    const known = this.#names.get(sql);
    if (known !== undefined || this.#given >= MOST_NAMES || this.#names.has(sql)) return known;
    const name = this.#newName(sql);
    this.#names.set(sql, name);
    this.#given += 1;
    return name;
  }

  #newName(sql: string): string | undefined {
    if (!mayBePrepared(sql) || !isPlain(sql) || leavesSessionState(sql)) return undefined;
    const renewals = this.#renewals.get(sql);
    const hash = createHash('sha256').update(sql).digest('hex').slice(0, 24);
    const name = `ambit_${wordsOf(sql)}_${hash}`;
    return renewals === undefined ? name : `${name}_${renewals}`;
  }

  /** The prepared statement no longer fits its tables, so every connection prepares it again under a new name. */
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

/** The role of a server, which PostgreSQL from version 14 on reports with every change. */
interface Role {
  readonly standby: boolean | undefined;
  readonly readOnly: boolean | undefined;
}

/** A role that is not known fits no wish but `any`. */
const FITS: Readonly<Record<TargetSessionAttrs, (role: Role) => boolean>> = {
  any: () => true,
  'read-write': ({ readOnly }) => readOnly === false,
  'read-only': ({ readOnly }) => readOnly === true,
  primary: ({ standby }) => standby === false,
  standby: ({ standby }) => standby === true,
  'prefer-standby': () => true,
};

const TYPES = safeTypes(undefined, pg.types);

/** One connection to the server, and what is known of it. Only this file uses undeclared fields of the driver. */
export class Session implements Wire {
  readonly client: DriverClient;
  isLost = false;
  /** The last error of the server or of the socket. */
  lostBecause: unknown = undefined;
  checkedOutAt = 0;
  stopIdleTimer: () => void = nothing;
  readonly #owner: PostgresDriver;
  readonly #status: () => string | null;
  /** A COMMIT may have been cancelled, by us or while the server waited for a standby, which it reports with a warning only. */
  #unconfirmed = false;
  /** A broken session is not used again, whatever its user says. */
  #isBroken = false;
  #isClosing = false;
  #standby: boolean | undefined = undefined;
  #readOnlyByDefault: boolean | undefined = undefined;

  constructor(config: ClientConfig, owner: PostgresDriver) {
    this.#owner = owner;
    this.client = new pg.Client({ ...config, types: TYPES }) as unknown as DriverClient;
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
    this.#status = transactionStatusOf(this.client);
  }

  /** A statement then commits by itself. */
  get outsideTransaction(): boolean {
    return this.#status() === 'I';
  }

  send(text: string, params?: readonly unknown[], options?: ExecuteOptions): Promise<ExecuteResult<never>> {
    const statement = new Statement(text, params, options);
    if (params && options?.prepare !== false) statement.name = this.#owner.names?.nameOf(text);
    return new Promise((resolve, reject) => {
      const stopTimer = this.#limitStatement();
      // The callback is an argument: a variable here would keep the rows until they are promoted to the old generation.
      this.client.query(statement, (error, result) => {
        stopTimer();
        // A user's statement outside of a transaction commits by itself.
        if (!error && this.#unconfirmed && (params ? this.outsideTransaction : text === 'COMMIT'))
          reject(unconfirmed());
        else if (!error) resolve(options ? resultOfPg(result) : (result as QueryResult<never>));
        else if (params && isStale(error, statement) && this.outsideTransaction)
          resolve(this.#sendAgain(text, params, options));
        else reject(this.#failure(error, statement));
      });
    });
  }

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
    if (!isStale(error, statement)) return error;
    this.#replaceStatement(statement.text);
    return staleStatement(error);
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

interface Waiting {
  readonly resolve: (session: Session) => void;
  readonly reject: (error: unknown) => void;
  readonly order: number;
}

/** Callers for whom the server had no space for a new connection, first come first served. */
class WaitingForSpace {
  readonly #waiting: Waiting[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  /** In the order asked: the caller that asked first may have learned later that there is no space. */
  wait(order: number): Promise<Session> {
    return new Promise((resolve, reject) => {
      const before = this.#waiting.findLastIndex((waiting) => waiting.order < order);
      this.#waiting.splice(before + 1, 0, { resolve, reject, order });
    });
  }

  /** Gives the session to the first caller; false where nobody waits. */
  give(session: Session): boolean {
    const first = this.#waiting.shift();
    first?.resolve(session);
    return first !== undefined;
  }

  rejectAll(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

/** A write is then a mistake of the caller, and not the fault of a load balancer that led us to a standby. */
const ONLY_READ: ReadonlySet<TargetSessionAttrs | undefined> = new Set([
  'standby',
  'read-only',
  'prefer-standby',
] as const);

/** For those who want to write: a server that takes no writes is the wrong one. */
const TO_WRITE: Language = {
  ...POSTGRES_LANGUAGE,
  translate: (error, where) =>
    isReadOnlyRefusal(error) && !where.readOnly ? readOnlyRefusal(error) : POSTGRES_LANGUAGE.translate(error, where),
};

/** How long a server may take to close a connection; a disconnected one never will. */
const CLOSE_MS = 1000;
/** How long a connection that was idle for a while may take to show that it works. */
const CHECK_MS = 1000;
/** How often a new connection is tried, for all waiting callers, while the server has no space for it. */
const FULL_MS = 250;

/** The idle connections of a pool, and how new ones are made. The pool itself limits their number. */
export class PostgresDriver implements Driver {
  readonly language: Language;
  readonly max: number;
  readonly settings: PostgresSettings;
  readonly names: StatementNames | undefined;
  readonly #connector: Connector;
  /** The one used last is used next, so that the others are closed when there is little load. */
  readonly #idle: Session[] = [];
  readonly #checking = new Set<Session>();
  readonly #closing = new Set<Promise<void>>();
  /** Each of them gets a connection that is returned. */
  readonly #waiting = new WaitingForSpace();
  #asked = 0;
  #open = 0;
  /** Why the server refused a new connection, until another one is tried. */
  #full: unknown = undefined;
  #stopRetry: () => void = nothing;
  #closed = false;

  constructor(settings: PostgresSettings) {
    // `pg` 7 lacks it, and its connections are never ready on Node 14 and later.
    if (!('DatabaseError' in pg))
      throw new TransactionError(
        'AMBIT_TX_VERSION',
        'createPostgresPool() needs pg 8.11 or later of version 8, and an older pg is installed',
      );
    this.settings = settings;
    this.language = ONLY_READ.has(settings.target) ? POSTGRES_LANGUAGE : TO_WRITE;
    this.max = settings.max;
    this.names = settings.prepare ? new StatementNames() : undefined;
    this.#connector = new Connector(this);
  }

  /** Connections that are being made count as open. */
  get size(): { open: number; idle: number } {
    return { open: this.#open, idle: this.#idle.length };
  }

  /** The connection used last, unless it was idle for so long that it has to be checked first. */
  connect({ readOnly = false }: AcquireOptions): Session | Promise<Session> {
    const { clock, checkAfterMs } = this.settings;
    const now = clock.now();
    const session = this.#idle.at(-1);
    if (session === undefined || now - session.checkedOutAt > checkAfterMs) return this.#connectLater(readOnly, now);
    this.#takeIdle();
    session.checkedOutAt = now;
    return session;
  }

  noConnection(refusal?: { readonly cause: unknown }): TransactionError {
    if (refusal) return noConnection(refusal.cause);
    const cause = this.#full;
    if (!cause) return new TransactionError('AMBIT_TX_ACQUIRE_TIMEOUT', 'A new connection to PostgreSQL took too long');
    const what = 'PostgreSQL has no room for another connection, and none of those in use was returned in time';
    return new TransactionError('AMBIT_TX_ACQUIRE_TIMEOUT', what, { cause });
  }

  /** For the next user, unless something may be broken. */
  onRelease(session: Session, possiblyBroken: boolean): void {
    const { target, clock, idleTimeoutMs } = this.settings;
    const isKept = !possiblyBroken && !session.isLost && !this.#closed && session.fits(target, false);
    if (!isKept) return this.#closeSession(session);
    if (this.#full !== undefined && this.#waiting.give(session)) return;
    session.stopIdleTimer = startTimer(clock, () => this.#forget(session), idleTimeoutMs);
    this.#idle.push(session);
  }

  /** The connection broke, whether it is in use or not. */
  onDeath(session: Session, error?: Error): void {
    if (!this.#forget(session) || !error) return;
    // An error of `onError` itself would crash the process because of a connection that nobody uses.
    (async () => this.settings.onError(error))().catch(nothing);
  }

  createSession(config: ClientConfig): Session {
    return new Session(config, this);
  }

  /** The connection was made, and is not wanted. */
  onUnwanted(session: Session): void {
    void this.#disconnect(session);
  }

  /** A connection that was idle for long and still works, a new one, or, where the server has no room, the next that is returned. */
  async #connectLater(forReading: boolean, now: number): Promise<Session> {
    const session = await this.#checkedOrNew(forReading);
    session.checkedOutAt = now;
    return session;
  }

  async #checkedOrNew(forReading: boolean): Promise<Session> {
    const order = (this.#asked += 1);
    const checked = await this.#check(forReading);
    if (checked) return checked;
    if (this.#full !== undefined && this.#open > 0) return this.#waiting.wait(order);
    try {
      return await this.#connect(forReading);
    } catch (error) {
      this.#onFailure(error);
      if (this.#closed || !hasNoSpace(error) || this.#open === 0) throw error;
      return this.#takeIdle() ?? this.#waiting.wait(order);
    }
  }

  /** Resolves when all are closed, or the server no longer responds. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#waiting.rejectAll(poolClosed());
    this.#connector.close();
    this.#stopRetry();
    for (const session of this.#checking) session.cut();
    this.#closeIdle();
    while (this.#closing.size > 0) await Promise.all(this.#closing);
  }

  /** Connections for the waiting callers, one at a time, as long as there is room. Until then nobody else tries. */
  async #tryForWaiting(): Promise<void> {
    try {
      while (this.#waiting.size > 0) this.onRelease(await this.#connect(false), false);
      this.#full = undefined;
    } catch (error) {
      this.#onFailure(error);
    }
  }

  #onFailure(error: unknown): void {
    if (this.#open > 0) {
      if (hasNoSpace(error) || this.#waiting.size > 0) this.#retryLater(error);
      return;
    }
    // No connection is left that could be returned.
    this.#full = undefined;
    this.#waiting.rejectAll(error);
  }

  #retryLater(error: unknown): void {
    this.#full = error;
    this.#stopRetry();
    this.#stopRetry = startTimer(this.settings.clock, () => void this.#tryForWaiting(), FULL_MS);
  }

  #takeIdle(): Session | undefined {
    const session = this.#idle.pop();
    session?.stopIdleTimer();
    return session;
  }

  /** If one does not respond, the others, which have been idle for longer, are closed, too. */
  async #check(forReading: boolean): Promise<Session | undefined> {
    const session = this.#takeIdle();
    if (!session) return undefined;
    const { target } = this.settings;
    this.#checking.add(session);
    const works = await session.responds(CHECK_MS);
    this.#checking.delete(session);
    if (works && !this.#closed && session.fits(target, forReading)) return session;
    if (!works) session.cut();
    this.#closeSession(session);
    this.#closeIdle();
    return undefined;
  }

  async #connect(forReading: boolean): Promise<Session> {
    this.#open += 1;
    try {
      return await this.#connector.connect(forReading);
    } catch (error) {
      this.#open -= 1;
      throw error;
    }
  }

  /** Closes the connection if it is idle, and returns whether it was. */
  #forget(session: Session): boolean {
    const place = this.#idle.indexOf(session);
    if (place === -1) return false;
    this.#idle.splice(place, 1);
    session.stopIdleTimer();
    this.#closeSession(session);
    return true;
  }

  #closeIdle(): void {
    for (let session = this.#takeIdle(); session; session = this.#takeIdle()) this.#closeSession(session);
  }

  #closeSession(session: Session): void {
    this.#open -= 1;
    // Now there may be room for another one.
    void this.#disconnect(session).then(() => this.#tryForWaiting());
  }

  #disconnect(session: Session): Promise<void> {
    const closing = session.end(CLOSE_MS).then(() => void this.#closing.delete(closing));
    this.#closing.add(closing);
    return closing;
  }
}
