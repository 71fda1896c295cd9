import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TroubleKind } from '../src/signs.js';
import type { Now, Trouble } from '../src/wire.js';
import { type Database, FaultyApp } from './support/faulty.js';
import { hosts } from './support/app.js';

/** A fault has the name of its trouble, of the comment behind the line that is to be named, and, with hyphens, of its handler, but for what is given. */
interface Fault {
  readonly name: string;
  readonly kind?: TroubleKind;
  readonly cause: RegExp;
  /** The database on which it cannot be made. */
  readonly not?: Database;
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
    const open = async (): Promise<number> => (await app.read<Now>('now')).transactions.open;
    const early = first.map((path) => app.ask(path));
    // SQLite opens one transaction at a time, so the others wait there.
    for (let turn = 0; turn < 50 && (await open()) < first.length; turn++) await sleep(5);
    await sleep(20);
    await Promise.all([...early, app.ask(second)]);
  };

const FAULTS: readonly Fault[] = [
  // The first ones: waits of others would be on the same card.
  {
    name: 'lock',
    kind: 'pool',
    cause:
      /Waited .+ for a connection; meanwhile for longest GET \/holds\/:id \(request \d+.+ had one|took \d+ % GET \/holds\/:id/,
    // Only the database knows who waits for a lock.
    not: 'PostgreSQL',
    make: inTurn(['holds'], 'waits'),
  },
  {
    name: 'pool',
    cause: /meanwhile for longest GET \/holds-a-connection\/:id \(request \d+|took \d+ % GET \/holds-a-connection\/:id/,
    make: inTurn(['holds-a-connection', 'holds-a-connection'], 'wants-a-connection'),
  },
  { name: 'N+1', cause: /sent the statement 12 times/, make: asked('n-plus-one') },
  { name: 'calls in a row', kind: 'N+1', cause: /One request called 127\.0\.0\.1:\d+ 6 times, for \d+ ms in all/ },
  { name: 'leak', cause: /application > job.* is open for more than 0\.3 s/ },
  {
    name: 'deadlock',
    cause: /each other's way .*40P01 deadlock detected.*; committed after 1 rollback/,
    not: 'SQLite',
    make: asked('deadlock-up', 'deadlock-down'),
  },
  { name: 'captive', kind: 'graph', cause: /Captive dependency: 'IGreeter' .* outlives 'IUser'/, make: asked('fine') },
  { name: 'failed service', cause: /IPrices could not be created for IInvoices: RangeError/ },
  { name: 'missing key', kind: 'failed service', cause: /IMailer could not be created: .* AMBIT_NOT_REGISTERED/ },
  // It goes on for three seconds: no wait for a connection is looked for meanwhile, nor another application.
  {
    name: 'never stopped',
    cause: /goes on after 2 requests completed/,
    make: asked('never-stopped', 'never-stopped'),
  },
  { name: 'aborted', cause: /disconnected after \d/, make: (app) => app.ask('aborted', 1500) },
  { name: 'failed commit', cause: /COMMIT was refused: .*23503 foreign key violation/ },
  { name: 'outbox', cause: /delivery of outbox failed: URIError/, make: asked('publish') },
  { name: 'failed handler', cause: /failed with TypeError/ },
  { name: 'failed statement', cause: /23505 unique violation/ },
  { name: 'after commit', cause: /after its transaction had finished/ },
  { name: 'idle transaction', cause: /open for \d+\.\d s without a statement; meanwhile it waited for 127\.0\.0\.1/ },
  { name: 'slow call', cause: /call to 127\.0\.0\.1:\d+ took \d+\.\d s/ },
  {
    name: 'blocked loop',
    cause:
      /GET \/blocked-loop\/:id \(request \d+\) kept this process from everything else for .+s, most of it in blocked-loop/,
    // Reading the samples before may take a twentieth of the time.
    make: async (app) => {
      await sleep(2000);
      await app.ask('fine');
      await app.ask('blocked-loop');
    },
  },
  { name: 'slow statement', kind: 'slow', cause: /in one statement/ },
  { name: 'finding', cause: /outside of the open transaction/ },
  {
    name: 'second connection',
    cause: /second connection is taken inside of a transaction that holds one/,
    make: asked('second-connection', 'second-connection', 'second-connection'),
  },
  { name: 'error committed', cause: /^Responded 404, and committed/ },
  {
    name: 'failed callback',
    cause: /callback of the transaction failed with TypeError.*; the response \(200\) does not/,
  },
  { name: 'failed disposal', cause: /^IUpload could not be disposed: EvalError/ },
  { name: 'hidden failure', cause: /^Responded 200 although its call POST 127\.0\.0\.1:\d+ failed with 503/ },
  { name: 'retries', cause: /POST 127\.0\.0\.1:\d+ was retried 3 times without pause, after it had failed with 503/ },
  {
    name: 'few sockets',
    cause: /waited [\d.]+ m?s for another call of this process: its Agent opens 1 sockets at most/,
    make: asked('few-sockets', 'few-sockets', 'few-sockets'),
  },
];

/** `packages/inspector/test/support/handlers.mjs:66` */
function lineOf({ name }: Fault): string {
  const lines = readFileSync(new URL('support/handlers.mjs', import.meta.url), 'utf8').split('\n');
  const line = lines.findIndex((text) => text.includes(`fault: ${name} `) || text.endsWith(`fault: ${name}`));
  if (line === -1) throw new Error(`No line is marked for ${name}`);
  return `test/support/handlers.mjs:${line + 1}`;
}

const MOST_ATTEMPTS = 4;
const NAMED_WITHIN_MS = 5000;

/**
 * Makes the fault, and resolves to what the inspector says then. A busy machine may turn around which of two requests came first, so it is
 * made again; on a quiet one the first time is enough.
 */
async function troublesOf(app: FaultyApp, fault: Fault): Promise<Trouble[]> {
  const make = fault.make ?? asked(fault.name.replaceAll(' ', '-'));
  let troubles: Trouble[] = [];
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    await make(app);
    const until = Date.now() + NAMED_WITHIN_MS;
    while (Date.now() < until) {
      troubles = await app.read('troubles');
      if (troubles.some((one) => expectedOf(fault).asymmetricMatch(one))) return troubles;
    }
  }
  return troubles;
}

const expectedOf = (fault: Fault): { asymmetricMatch(trouble: Trouble): boolean } => {
  const { name, kind = name, cause } = fault;
  const [what, where] = [expect.stringMatching(cause) as string, expect.stringContaining(lineOf(fault)) as string];
  return expect.objectContaining({ kind, cause: what, where }) as ReturnType<typeof expectedOf>;
};

/** Each host and each database once: what a host or a database does differently, its contract says. */
describe.each<[string, Database]>([
  ['Fastify', 'SQLite'],
  ['Express', 'PostgreSQL'],
])('the inspector names the cause of a fault and its line, on %s with %s', (name, database) => {
  let app: FaultyApp;
  beforeAll(async () => {
    app = await FaultyApp.start(database, { host: hosts.find((one) => one.name === name) });
  });
  afterAll(() => app.close());

  it('but none without trouble, nor of a request that the application refused', async () => {
    for (const [path, status] of Object.entries({ fine: 200, refused: 409, waits: 200 }))
      expect(await app.ask(path)).toBe(status);
    const troubles = await app.read<Trouble[]>('troubles');
    // On a busy machine the start of the application itself may block the loop.
    expect(troubles.filter(({ kind }) => kind !== 'blocked loop')).toEqual([]);
  });

  it.each(FAULTS.filter(({ not, kind }) => not !== database && kind !== 'graph'))('$name', async (fault) => {
    expect(await troublesOf(app, fault)).toContainEqual(expectedOf(fault));
  });
});

describe('the inspector names what is wrong with the graph, and its line', () => {
  it.each(FAULTS.filter(({ kind }) => kind === 'graph'))('$name', async (fault) => {
    const app = await FaultyApp.start('SQLite', { wrongGraph: true });
    expect(await troublesOf(app, fault)).toContainEqual(expectedOf(fault));
    await app.close();
  });
});
