import { type Session, type SessionOwner, StatementNames } from './session.js';
import { startTimer } from '../core/clock.js';
import type { AcquireOptions } from '../core/contract.js';
import { poolClosed, TransactionError } from '../core/errors.js';
import type { Driver, Language } from '../pool/driver.js';
import { Connector } from './connector.js';
import { hasNoSpace, isReadOnlyRefusal, noConnection, POSTGRES_LANGUAGE, readOnlyRefusal } from './errors.js';
import type { PostgresSettings, TargetSessionAttrs } from './options.js';

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

const nothing = (): void => undefined;

/** The idle connections of a pool, and how new ones are made. The pool itself limits their number. */
export class PostgresDriver implements Driver, SessionOwner {
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
    this.settings = settings;
    this.language = ONLY_READ.has(settings.target) ? POSTGRES_LANGUAGE : TO_WRITE;
    this.max = settings.max;
    this.names = settings.prepare ? new StatementNames() : undefined;
    this.#connector = new Connector(this);
  }

  /** Those being made are open. */
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
    if (!isKept) return this.#close(session);
    if (this.#full !== undefined && this.#waiting.give(session)) return;
    session.stopIdleTimer = startTimer(clock, () => this.#forget(session), idleTimeoutMs);
    this.#idle.push(session);
  }

  onDeath(session: Session, error?: Error): void {
    if (!this.#forget(session) || !error) return;
    // An error of `onError` itself would crash the process because of a connection that nobody uses.
    (async () => this.settings.onError(error))().catch(nothing);
  }

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

  /** Where one does not respond, the others, which have been idle for longer, are closed too. */
  async #check(forReading: boolean): Promise<Session | undefined> {
    const session = this.#takeIdle();
    if (!session) return undefined;
    const { target } = this.settings;
    this.#checking.add(session);
    const works = await session.responds(CHECK_MS);
    this.#checking.delete(session);
    if (works && !this.#closed && session.fits(target, forReading)) return session;
    if (!works) session.cut();
    this.#close(session);
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
    this.#close(session);
    return true;
  }

  #closeIdle(): void {
    for (let session = this.#takeIdle(); session; session = this.#takeIdle()) this.#close(session);
  }

  #close(session: Session): void {
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
