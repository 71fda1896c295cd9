import { channel } from 'node:diagnostics_channel';
import { type Arbitrary, array, assert, constant, constantFrom, integer, oneof, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Container, Registration, singleton } from '@ambit/container';
import type { IDatabasePool } from '@ambit/transaction';
import { PoolHistory } from '../../page/histories.js';
import { marksOf, problemsOf } from '../../page/requests/request-data.js';
import * as sentences from '../../page/sentences.js';
import { Store } from '../../page/stream/store.js';
import { PoolUsage } from '../../src/pool-usage.js';
import { Recorder } from '../../src/recorder.js';
import { listen } from '../../src/recording.js';
import type { RequestRecord } from '../../src/requests.js';
import type { Hello, Outcome, PoolNow, Tick } from '../../src/wire.js';
import { createApp, openRequest } from '../support/app.js';

const OUTCOMES = ['committed', 'rolled back', 'unknown'] as const;
const STATUSES = [200, 404, 409, 500];

type Command =
  | {
      readonly do:
        | 'abort'
        | 'arrive'
        | 'check out'
        | 'leak'
        | 'other page'
        | 'refuse'
        | 'release'
        | 'statements'
        | 'tick';
    }
  | { readonly do: 'respond'; readonly status: number }
  | { readonly do: 'transaction'; readonly outcome: (typeof OUTCOMES)[number] }
  | { readonly do: 'wait'; readonly milliseconds: number };

const commands: Arbitrary<Command[]> = array(
  oneof(
    constantFrom<Command['do'][]>(
      'abort',
      'arrive',
      'check out',
      'leak',
      'other page',
      'refuse',
      'release',
      'statements',
      'tick',
    ).map((name) => ({ do: name }) as Command),
    constant<Command>({ do: 'arrive' }),
    constantFrom(...STATUSES).map((status): Command => ({ do: 'respond', status })),
    constantFrom(...OUTCOMES).map((outcome): Command => ({ do: 'transaction', outcome })),
    integer({ min: 1, max: 3000 }).map((milliseconds): Command => ({ do: 'wait', milliseconds })),
  ),
  { maxLength: 60 },
);

/** An application, its pool and its inspector, and a page that gets every message. */
class History {
  readonly store = new Store();
  readonly history = new PoolHistory();
  readonly recorder: Recorder;
  now = 0;
  readonly #app: Container = createApp();
  readonly #pool = { size: { open: 0, idle: 0, waiting: 0, max: 3 } };
  readonly #usage: PoolUsage;
  readonly #stop: readonly (() => void)[];
  #current: { readonly record: RequestRecord; readonly scope: Container } | undefined;

  constructor() {
    const options = { limitMs: 1000, samplesPerSecond: 3, keep: 4, keepTrouble: 3, slowMs: 1000 };
    this.#app.addRegistration(
      Registration.fromFactory(() => this.#pool as unknown as IDatabasePool)
        .pipe(singleton())
        .to('IDatabasePool'),
    );
    this.recorder = new Recorder(this.#app, [], {
      ...options,
      now: () => this.now,
      current: () => this.#current?.record,
    });
    this.#usage = new PoolUsage(this.#app);
    this.#stop = [listen(this.recorder), this.#usage.watch()];
    this.store.onChange((_, change) => this.history.take(this.store.now?.pool, this.now, change));
    const hello: Hello = { boot: 'boot', always: true, ...options, ...this.recorder.all(this.#usage.now()) };
    this.store.begin(structuredClone(JSON.parse(JSON.stringify(hello)) as Hello));
  }

  close(): void {
    for (const stop of this.#stop) stop();
  }

  do(command: Command): void {
    const record = this.#current?.record;
    const { size } = this.#pool;
    switch (command.do) {
      case 'arrive': {
        const arrived = this.recorder.arrive({ method: 'GET', route: () => undefined, lost: () => false });
        this.#current = arrived && { record: arrived, scope: this.#app };
        if (arrived) this.#current = { record: arrived, scope: openRequest(this.#app) };
        break;
      }
      case 'abort':
        if (record) this.recorder.aborted(record);
        break;
      case 'respond':
        if (record) this.recorder.responded(record, command.status);
        break;
      case 'leak':
        this.now += 2000;
        break;
      case 'wait':
        this.now += command.milliseconds;
        break;
      case 'check out':
        if (size.idle > 0) size.idle--;
        else if (size.open < size.max) size.open++;
        else size.waiting++;
        this.#tell('connection:acquired', { pool: this.#pool, milliseconds: 0 });
        break;
      case 'release':
        if (size.waiting > 0) size.waiting--;
        else if (size.open > size.idle) size.idle++;
        break;
      case 'statements':
        for (let i = 0; i < 6; i++)
          this.#tell('statement:outside', { sql: 'SELECT 1', milliseconds: 0, statement: {} });
        break;
      case 'transaction':
        this.#transaction(command.outcome);
        break;
      case 'refuse':
        if (this.#current)
          this.#tell('transaction:refused', { parent: this.#current.scope, milliseconds: 5, error: new Error('full') });
        break;
      case 'other page':
        this.recorder.all(this.#usage.now());
        break;
      case 'tick':
        this.#tick();
        break;
    }
  }

  #tick(): void {
    this.now += 250;
    this.store.tick(JSON.parse(JSON.stringify(this.recorder.tick(this.#usage.take()))) as Tick);
  }

  #transaction(outcome: Exclude<Outcome, 'refused'>): void {
    if (!this.#current) return;
    const scope = this.#current.scope.createScope({ tags: ['transaction'] });
    const error = outcome === 'committed' ? undefined : Object.assign(new TypeError('no'), { code: 'E_NO' });
    this.#tell('transaction:acquired', { scope, milliseconds: 0 });
    this.#tell('transaction:begun', { scope, milliseconds: 0 });
    this.#tell('transaction:finished', { scope, outcome, milliseconds: 0, ...(error && { error }) });
    void scope.dispose();
  }

  #tell(name: string, message: object): void {
    channel(`ambit:${name}`).publish(message);
  }
}

const numberIn = (text: string, pattern: RegExp): number =>
  Number(pattern.exec(text)?.[1]?.replaceAll(',', '') ?? Number.NaN);

function checkPool(pool: PoolNow, history: PoolHistory, now: number): void {
  for (const { now: current, most } of [sentences.poolLines(pool), sentences.poolLines(pool, history.peak(now))]) {
    const inUse = numberIn(current, /^([\d,]+) in use/);
    const waiting = current.includes('nobody is waiting') ? 0 : numberIn(current, /([\d,]+) callers? waiting/);
    const mostInUse = most.startsWith('None') ? 0 : numberIn(most, /^At most ([\d,]+) in use/);
    const mostWaiting = most.includes('nobody waited') ? 0 : numberIn(most, /([\d,]+) callers? waited/);
    expect([inUse, waiting]).toEqual([pool.open - pool.idle, pool.waiting]);
    expect(mostInUse).toBeGreaterThanOrEqual(inUse);
    expect(mostWaiting).toBeGreaterThanOrEqual(waiting);
    expect(numberIn(current, / of ([\d,]+)/)).toBeGreaterThanOrEqual(inUse);
    // Who waits for a connection while none is in use waits for the first one to open.
    expect(most).not.toMatch(/At most 0|None in use.*waited at once/);
  }
}

function checkStore({ store, recorder }: History): void {
  const { now, requests, troubles, hello } = store;
  if (!now || !hello) throw new Error('There is no state');
  const outcomes = sentences.transactionsLine(now.transactions);
  const parts = [...outcomes.matchAll(/([\d,]+) (?:committed|rolled back|with an)/g)].map(([, number]) =>
    Number(number),
  );
  expect(parts.reduce((sum, number) => sum + number, 0)).toBe(numberIn(outcomes, /([\d,]+) completed/) || 0);

  const list = sentences.listLine({ shown: 1, listed: requests.size, keep: hello.keep, ...now });
  const all = numberIn(list, / of ([\d,]+)/) || numberIn(list, /^([\d,]+) request/);
  expect(all).toBeGreaterThanOrEqual(Math.max(1, requests.size));
  const rates = sentences.ratesLine(now);
  const listed = numberIn(rates, /, ([\d,]+) of them/);
  if (!Number.isNaN(listed)) expect(listed).toBeLessThan(numberIn(rates, /^([\d,]+) request/));

  const isSilent = sentences.troublesLine(troubles, hello).startsWith('No trouble');
  expect([isSilent, sentences.troubleCount(troubles) === 'no trouble']).toEqual([
    troubles.length === 0,
    troubles.length === 0,
  ]);

  for (const request of requests.values()) {
    const marks = marksOf(request, hello.slowMs).map(({ text }) => text);
    expect(
      marks.filter((text) => ['committed', 'rolled back', 'commit unknown', 'no connection'].includes(text)).length,
    ).toBeLessThan(2);
    const details = recorder.details(request.id);
    const said = [
      sentences.outcomeLine(request),
      ...(details ? problemsOf(details, hello.slowMs).map(({ cause }) => cause) : []),
    ];
    if (request.outcome === 'committed') expect(said.join('\n')).not.toMatch(/nothing .*stored/i);
    if (request.outcome !== 'committed') expect(said.join('\n')).not.toMatch(/is committed/);
  }
}

describe('what the page says', () => {
  it('contradicts itself in no history of requests, transactions and connections', () => {
    const contradict = property(commands, (all) => {
      const history = new History();
      try {
        for (const command of [...all, { do: 'tick' } as const]) {
          history.do(command);
          if (command.do !== 'tick') continue;
          checkStore(history);
          if (history.store.now?.pool) checkPool(history.store.now.pool, history.history, history.now);
        }
      } finally {
        history.close();
      }
    });
    expect(() => assert(contradict, { numRuns: 150 })).not.toThrow();
  });

  it('names the most that were in use in the last minute, and only that', () => {
    const history = new PoolHistory();
    const pool = (mostInUse: number): PoolNow => ({ open: 9, idle: 9, waiting: 0, max: 9, mostInUse, mostWaiting: 0 });
    history.take(pool(9), 0, { complete: true });
    // Since when this one counts nobody knows: no page may have been open for hours.
    history.take(pool(8), 250, { complete: false });
    history.take(pool(5), 500, { complete: false });
    history.take(pool(2), 50_500, { complete: false });
    expect(sentences.poolLines(pool(0), history.peak(50_500)).most).toBe(
      'At most 5 in use in the last 50 seconds, and nobody waited.',
    );
    history.take(pool(1), 61_000, { complete: false });
    expect(sentences.poolLines(pool(0), history.peak(61_000)).most).toMatch(/^At most 2 in use/);
  });

  it('says of a retried transaction that it is committed, and how often it was not', () => {
    expect(sentences.outcomeLine({ outcome: 'committed', failedAttempts: 1 })).toBe(
      'Its last transaction is committed; 1 transaction before it was not committed.',
    );
    expect(sentences.outcomeLine({ outcome: 'committed', failedAttempts: 0 })).toBeUndefined();
  });

  it('says how many requests are shown of how many, and why not all', () => {
    const numbers = { listed: 56, arrived: 240, samplesPerSecond: 50, keep: 300 };
    expect(sentences.listLine({ ...numbers, shown: 56 })).toBe(
      '56 shown of 240; without trouble 50 a second are listed, and the newest 300 kept',
    );
    expect(sentences.listLine({ ...numbers, shown: 56, arrived: 56 })).toBe('56 requests');
  });
});
