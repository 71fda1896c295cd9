import { startTimer } from '../core/clock.js';
import { Connector } from './connector.js';
import { poolClosed } from '../core/errors.js';
import { hasNoSpace } from './errors.js';
import type { PostgresSettings } from './options.js';
import type { Session } from './session.js';
import { WaitingForSpace } from './waiting-for-space.js';

/** How long a server may take to close a connection; a disconnected one never will. */
const CLOSE_MS = 1000;
/** How long a connection that was idle for a while may take to show that it works. */
const CHECK_MS = 1000;
/** How often a new connection is tried, for all waiting callers, while the server has no space for it. */
const FULL_MS = 250;

const nothing = (): void => undefined;

/** The idle connections of a pool, and how new ones are made. The pool itself limits their number. */
export class IdleSessions {
  readonly #settings: PostgresSettings;
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
    this.#settings = settings;
    this.#connector = new Connector(settings, {
      onDeath: (session, error) => this.#died(session, error),
      onUnwanted: (session) => void this.#disconnect(session),
    });
  }

  /** Including those being made. */
  get open(): number {
    return this.#open;
  }

  get idle(): number {
    return this.#idle.length;
  }

  /** Why no new connection can be made, while there are others to wait for. */
  get full(): unknown {
    return this.#full;
  }

  /** The connection used last, unless it was idle for so long that it has to be checked first. */
  take(now: number): Session | undefined {
    const session = this.#idle.at(-1);
    if (session === undefined || now - session.checkedOutAt > this.#settings.checkAfterMs) return undefined;
    return this.#takeIdle();
  }

  /** A connection that was idle for long and still works, a new one, or, where the server has no room, the next that is returned. */
  async connect(forReading: boolean): Promise<Session> {
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

  /** For the next user, unless something may be broken. */
  release(session: Session, { possiblyBroken = false } = {}): void {
    const { target, clock, idleTimeoutMs } = this.#settings;
    const isKept = !possiblyBroken && !session.died && !this.#closed && session.fits(target, false);
    if (!isKept) return this.#close(session);
    if (this.#full !== undefined && this.#waiting.give(session)) return;
    session.stopIdleTimer = startTimer(clock, () => this.#forget(session), idleTimeoutMs);
    this.#idle.push(session);
  }

  /** Resolves when all are closed, or the server no longer responds. */
  async end(): Promise<void> {
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
      while (this.#waiting.size > 0) this.release(await this.#connect(false));
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
    this.#stopRetry = startTimer(this.#settings.clock, () => void this.#tryForWaiting(), FULL_MS);
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
    const { clock, target } = this.#settings;
    this.#checking.add(session);
    const works = await session.responds(clock, CHECK_MS);
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

  #died(session: Session, error?: Error): void {
    if (!this.#forget(session) || !error) return;
    // An error of `onError` itself would crash the process because of a connection that nobody uses.
    (async () => this.#settings.onError(error))().catch(nothing);
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
    const closing = session.end(this.#settings.clock, CLOSE_MS).then(() => void this.#closing.delete(closing));
    this.#closing.add(closing);
    return closing;
  }
}
