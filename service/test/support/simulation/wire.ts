import type { Clock, ExecuteResult } from '@ambit/transaction';
import { type Driver, POSTGRES_LANGUAGE, type Wire } from '@ambit/transaction/extension';
import type { FakeFault } from '@ambit/transaction/testing';
import type { Session, SimulatedDatabase } from './database.js';
import { programOf, sqlError } from './statements.js';

/** `late`: the connection is lost, and the statement arrives nevertheless, when its client has disconnected. */
export interface Fault {
  readonly ms: number;
  readonly kind: FakeFault['kind'] | 'deadlock' | 'late';
}

/** What a simulated line to the database takes from the run that it is part of. */
export interface DatabaseLine {
  readonly clock: Clock;
  readonly database: SimulatedDatabase;
  /** After so long the driver of PostgreSQL cuts a connection on which nothing comes back: `QUERY_TIMEOUT_MS` of the service. */
  readonly silentMs: number;
  /** What happens to a statement, or to what is named otherwise: a new connection, a request to cancel, the end of a connection. */
  faultAt(what: string): Fault;
  note(who: string, what: string): void;
}

const REFUSALS = { refused: '53200', conflict: '40001', deadlock: '40P01' } as const;

/** A statement that the pool waits for. */
interface Sent {
  readonly sql: string;
  readonly params: readonly unknown[] | undefined;
  readonly resolve: (result: ExecuteResult<never>) => void;
  readonly reject: (error: Error) => void;
  readonly stopTimer: () => void;
}

/** The line to one session of the database, on which everything may get lost. */
class SimulatedWire implements Wire {
  isLost = false;
  outsideTransaction = true;
  readonly #session: Session;
  readonly #name: string;
  readonly #line: DatabaseLine;
  readonly #onIdle: (session: Session) => void;
  #sent: Sent | undefined = undefined;
  #isReleased = false;

  constructor(name: string, session: Session, line: DatabaseLine, onIdle: (session: Session) => void) {
    this.#name = name;
    this.#session = session;
    this.#line = line;
    this.#onIdle = onIdle;
    if (session.state !== 'idle') this.#violates('a connection was handed out in an open transaction');
  }

  send(sql: string, params?: readonly unknown[]): Promise<ExecuteResult<never>> {
    const name = params ? (programOf(sql)?.name ?? 'unknown') : sql;
    if (this.#isReleased) this.#violates(`${name} was sent after the release`);
    if (this.#sent) this.#violates(`${name} was sent during another statement`);
    const { ms, kind } = this.#line.faultAt(name);
    this.#line.note(this.#name, name);
    const { clock, silentMs } = this.#line;
    return new Promise((resolve, reject) => {
      const stopTimer = clock.setTimer(() => this.#disconnect(), silentMs);
      const sent = { sql, params, resolve, reject, stopTimer };
      this.#sent = sent;
      if (kind === 'late') {
        clock.setTimer(() => this.#disconnect(20 * ms + 1), ms);
        clock.setTimer(() => void this.#session.execute(sql, params).catch(() => undefined), 10 * ms);
      } else clock.setTimer(() => void this.#arrive(sent, kind), ms);
    });
  }

  cancel(): void {
    const { ms, kind } = this.#line.faultAt('cancel');
    if (kind === 'none') this.#line.clock.setTimer(() => this.#session.cancel(), ms);
  }

  release(possiblyBroken: boolean): void {
    if (this.#isReleased) this.#violates('a connection was returned twice');
    this.#isReleased = true;
    if (possiblyBroken || this.isLost) return this.#disconnect();
    if (this.#sent) this.#violates('a connection was returned during a statement');
    if (this.#session.state !== 'idle') this.#violates('a connection was returned in an open transaction');
    this.#onIdle(this.#session);
  }

  async #arrive(sent: Sent, kind: Fault['kind']): Promise<void> {
    if (kind === 'lost') return this.#disconnect();
    const { sql, params, resolve, reject } = sent;
    try {
      if (kind in REFUSALS) throw this.#session.fail(REFUSALS[kind as keyof typeof REFUSALS]);
      const { command, rows } = await this.#session.execute(sql, params);
      if (kind === 'lost after') return this.#disconnect();
      const result = { command, rows: rows as never[], rowCount: rows.length, fields: [] };
      if (kind !== 'never') this.#respond(sent, () => resolve(result));
    } catch (error) {
      // A COMMIT that is refused has rolled back.
      if (!params && this.#session.state === 'failed') await this.#session.execute('ROLLBACK');
      if (kind !== 'never') this.#respond(sent, () => reject(error as Error));
    }
  }

  /** Unless nobody waits for it any more. */
  #respond(sent: Sent, settle: () => void): void {
    if (this.#sent !== sent) return;
    this.#sent = undefined;
    sent.stopTimer();
    this.outsideTransaction = this.#session.state === 'idle';
    settle();
  }

  /** The server learns of it only after a while. */
  #disconnect(ms = this.#line.faultAt('disconnect').ms): void {
    if (this.isLost) return;
    this.isLost = true;
    this.#line.clock.setTimer(() => this.#session.close(), ms);
    const sent = this.#sent;
    if (sent) this.#respond(sent, () => sent.reject(new Error('Connection terminated unexpectedly')));
  }

  #violates(what: string): void {
    this.#line.database.violations.push(what);
  }
}

/** A driver that the real pool is over. Its line, and so its database, is another one in each run. */
export class SimulatedDriver implements Driver {
  readonly language = POSTGRES_LANGUAGE;
  readonly max: number;
  readonly #name: string;
  #line: DatabaseLine | undefined = undefined;
  #idle: Session[] = [];
  #connections = 0;

  constructor(name: string, max: number) {
    this.#name = name;
    this.max = max;
  }

  leadTo(line: DatabaseLine): void {
    this.#line = line;
    this.#idle = [];
    this.#connections = 0;
  }

  connect(): Wire | Promise<Wire> {
    const line = this.#line;
    if (!line) throw new Error('no run has begun');
    const session = this.#idle.pop();
    if (session) return this.#wire(session, line);
    const { ms, kind } = line.faultAt('connect');
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        if (kind === 'none') resolve(this.#wire(line.database.connect(), line));
        else reject(kind === 'refused' ? sqlError('too many clients', '53300') : new Error('ECONNREFUSED'));
      };
      line.clock.setTimer(settle, kind === 'never' ? line.silentMs : ms);
    });
  }

  /** As at shutdown. */
  async close(): Promise<void> {
    for (const session of this.#idle) session.close();
    this.#idle = [];
  }

  #wire(session: Session, line: DatabaseLine): Wire {
    this.#connections += 1;
    const onIdle = (idle: Session): void => void this.#idle.push(idle);
    return new SimulatedWire(`${this.#name}#${this.#connections}`, session, line, onIdle);
  }
}
