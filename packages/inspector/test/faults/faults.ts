import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { hasPostgres, openSchema } from '@ambit/test-kit';
import type { Now, Trouble, TroubleKind } from '../../src/wire.js';

const PROGRAM = fileURLToPath(new URL('program.mjs', import.meta.url));
const HANDLERS = fileURLToPath(new URL('handlers.mjs', import.meta.url));

/** The application with faults, in a process of its own. */
export class FaultyApp {
  readonly url: string;
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess, url: string) {
    this.#process = process;
    this.url = url;
  }

  static async start(host: string, address: string, ...options: readonly string[]): Promise<FaultyApp> {
    const process = fork(PROGRAM, [host, address, ...options], { execArgv: ['--enable-source-maps'] });
    const exits = once(process, 'exit').then(([code]) => {
      throw new Error(`The application with faults exited with ${code}`);
    });
    const [{ url }] = (await Promise.race([once(process, 'message'), exits])) as [{ url: string }];
    exits.catch(() => undefined);
    return new FaultyApp(process, url);
  }

  async ask(path: string, abortAfterMs?: number): Promise<number | undefined> {
    const signal = abortAfterMs === undefined ? null : AbortSignal.timeout(abortAfterMs);
    return fetch(`${this.url}/${path}`, { signal }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => undefined,
    );
  }

  async publish(): Promise<void> {
    this.#process.send('publish');
    await once(this.#process, 'message');
  }

  /** Reads a tool of the inspector. */
  async tool<T>(name: string, args: object = {}): Promise<T> {
    const params = { name, arguments: args };
    const response = await fetch(`${this.url}/inspector/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    });
    const { result } = (await response.json()) as { result: { isError: boolean; content: [{ text: string }] } };
    if (result.isError) throw new Error(result.content[0].text);
    return JSON.parse(result.content[0].text) as T;
  }

  async stop(): Promise<void> {
    this.#process.disconnect();
    if (this.#process.exitCode === null) await once(this.#process, 'exit');
  }
}

export type Database = 'PostgreSQL' | 'SQLite';
/** Each host and each database once: what a host or a database does differently, its contract says. */
export const PLACES: readonly (readonly [string, Database])[] = [
  ['Fastify', 'SQLite'],
  ...(hasPostgres ? [['Express', 'PostgreSQL'] as const] : []),
];

/** On one host and one database. Faults with the same options share an application: each trouble is found among the others. */
export class FaultyApps {
  readonly #host: string;
  readonly #database: Database;
  readonly #started = new Map<string, { app: FaultyApp; drop: () => Promise<void> | void }>();

  constructor(host: string, database: Database) {
    this.#host = host;
    this.#database = database;
  }

  async with(options: readonly string[] = []): Promise<FaultyApp> {
    const name = options.join(' ');
    const known = this.#started.get(name);
    if (known) return known.app;
    const { address, drop } = await openDatabase(this.#database);
    const app = await FaultyApp.start(this.#host, address, ...options);
    this.#started.set(name, { app, drop });
    return app;
  }

  async close(): Promise<void> {
    for (const { app, drop } of this.#started.values()) {
      await app.stop();
      await drop();
    }
  }
}

/** An empty database, by its address. */
async function openDatabase(database: Database): Promise<{ address: string; drop: () => Promise<void> | void }> {
  if (database === 'PostgreSQL') {
    const schema = await openSchema();
    return { address: schema.url(), drop: () => schema.drop() };
  }
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  return { address: join(folder, 'test.db'), drop: () => rmSync(folder, { recursive: true }) };
}

/** A fault has the name of its trouble, of the comment behind the line that is to be named, and, with hyphens, of its handler, but for what is given. */
export interface Fault {
  readonly name: string;
  readonly kind?: TroubleKind;
  readonly mark?: string;
  readonly cause: RegExp;
  /** Databases on which it cannot be made, and why. */
  readonly not?: Partial<Record<Database, string>>;
  readonly options?: readonly string[];
  readonly make?: (app: FaultyApp) => Promise<unknown>;
}

const asked =
  (...paths: readonly string[]) =>
  (app: FaultyApp): Promise<unknown> =>
    Promise.all(paths.map((path) => app.ask(path)));

/** The second is asked a moment after the first have begun their transactions. */
const inTurn =
  (first: readonly string[], second: string) =>
  async (app: FaultyApp): Promise<void> => {
    const open = async (): Promise<number> => (await app.tool<Now>('now')).transactions.open;
    const before = await open();
    const early = first.map((path) => app.ask(path));
    // SQLite opens one transaction at a time, so the others wait there.
    for (let turn = 0; turn < 50 && (await open()) < before + first.length; turn++) await sleep(5);
    await sleep(20);
    await Promise.all([...early, app.ask(second)]);
  };

const WRONG_GRAPH = { kind: 'graph', options: ['--wrong-graph'], make: asked('fine') } as const;
/** The samples of the one before were read, which may take a twentieth of the time. */
const rested = (path: string) => async (app: FaultyApp) => {
  await sleep(2000);
  await app.ask('fine');
  await app.ask(path);
};

export const FAULTS: readonly Fault[] = [
  { name: 'N+1', cause: /sent the statement 12 times/, make: asked('n-plus-one') },
  { name: 'calls in a row', kind: 'N+1', cause: /One request called 127\.0\.0\.1:\d+ 6 times, for \d+ ms in all/ },
  { name: 'leak', cause: /application > job.* is open for more than 0\.3 s/ },
  {
    name: 'lock',
    kind: 'pool',
    cause: /Waited .+ for a connection; meanwhile a transaction had one; for longest GET \/holds \(request \d+/,
    not: { PostgreSQL: 'only the database knows who waits for a lock' },
    make: inTurn(['holds'], 'waits'),
  },
  {
    name: 'pool',
    cause: /meanwhile (?:a|\d) transactions? had one; for longest GET \/holds-a-connection \(request \d+/,
    make: inTurn(['holds-a-connection', 'holds-a-connection'], 'wants-a-connection'),
  },
  {
    name: 'deadlock',
    cause: /each other's way .*40P01 deadlock detected.*; committed after 1 rollback/,
    not: { SQLite: 'it has one lock' },
    make: asked('deadlock-up', 'deadlock-down'),
  },
  { name: 'captive', cause: /Captive dependency: 'IGreeter' .* outlives 'IUser'/, ...WRONG_GRAPH },
  { name: 'split key', cause: /Split key: 'ILedger' .* keeps the 'IQueryable'/, ...WRONG_GRAPH },
  { name: 'failed service', cause: /IPrices could not be created for IInvoices: RangeError/ },
  { name: 'missing key', kind: 'failed service', cause: /IMailer could not be created: .* AMBIT_NOT_REGISTERED/ },
  { name: 'aborted', cause: /disconnected after \d/, make: (app) => app.ask('aborted', 1500) },
  { name: 'failed commit', cause: /COMMIT was refused: .*23503 foreign key violation/ },
  { name: 'outbox', cause: /delivery of outbox failed: URIError/, make: (app) => app.publish() },
  { name: 'failed handler', cause: /failed with TypeError/ },
  { name: 'failed statement', cause: /23505 unique violation/ },
  { name: 'wrong column', kind: 'failed statement', cause: /42703 undefined column|42000/ },
  { name: 'after commit', cause: /after its transaction had finished/ },
  {
    name: 'idle transaction',
    cause: /open for \d+\.\d s without a statement; meanwhile it waited for 127\.0\.0\.1/,
  },
  { name: 'slow call', cause: /call to 127\.0\.0\.1:\d+ took \d+\.\d s/ },
  { name: 'blocked loop', cause: /late by .+; most of that time/, make: rested('blocked-loop') },
  { name: 'slow statement', kind: 'slow', cause: /in one statement/ },
  { name: 'finding', cause: /outside of the open transaction/ },
];

export const kindOf = ({ name, kind = name as TroubleKind }: Fault): TroubleKind => kind;

/** `packages/inspector/test/faults/handlers.mjs:66` */
export function lineOf({ name, mark = name }: Fault): string {
  const lines = readFileSync(HANDLERS, 'utf8').split('\n');
  const line = lines.findIndex((text) => text.includes(`fault: ${mark} `) || text.endsWith(`fault: ${mark}`));
  if (line === -1) throw new Error(`No line is marked for ${mark}`);
  return `test/faults/handlers.mjs:${line + 1}`;
}

export async function troublesOf(app: FaultyApp): Promise<Trouble[]> {
  const troubles = await app.tool<Trouble[] | { note: string }>('troubles');
  return Array.isArray(troubles) ? troubles : [];
}

const MOST_ATTEMPTS = 2;
const NAMED_WITHIN_MS = 5000;
const LOOK_AGAIN_MS = 50;

/**
 * Makes the fault, and waits until the inspector names its cause and its line. A busy machine may turn around
 * which of two requests came first, so it is made once more; on a quiet one the first time is enough.
 */
export async function make(app: FaultyApp, fault: Fault): Promise<Trouble> {
  const [kind, line] = [kindOf(fault), lineOf(fault)];
  let troubles: Trouble[] = [];
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    await (fault.make?.(app) ?? app.ask(fault.name.replaceAll(' ', '-')));
    const end = Date.now() + NAMED_WITHIN_MS;
    do {
      troubles = await troublesOf(app);
      const found = troubles.find(
        (trouble) => trouble.kind === kind && fault.cause.test(trouble.cause) && trouble.where?.includes(line),
      );
      if (found) return found;
      await sleep(LOOK_AGAIN_MS);
    } while (Date.now() < end);
  }
  throw new Error(`Of ${fault.name} at ${line} the inspector says only: ${JSON.stringify(troubles, undefined, 2)}`);
}
