import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TroubleKind } from '../src/signs.js';
import type { Now, RequestSummary, Trouble } from '../src/wire.js';
import { type Database, type FaultyApp, startFaulty } from './support/faulty.js';
import { hosts } from './support/app.js';

/** A fault has the name of its trouble, of the comment behind the line that is to be named, and, with hyphens, of its handler, but for what is given. */
interface Fault {
  readonly name: string;
  readonly kind?: TroubleKind;
  readonly cause: RegExp;
  /** The beginning of its name, where it is work outside of requests: that says how it was begun. */
  readonly work?: string;
  /** The database on which it cannot be made. */
  readonly not?: Database;
  readonly make?: (app: FaultyApp) => Promise<unknown>;
}

const asked =
  (...paths: readonly string[]) =>
  (app: FaultyApp): Promise<unknown> =>
    Promise.all(paths.map((path) => app.ask(path)));

const THRICE = Array<string>(3).fill('second-connection');

const FAULTS: readonly Fault[] = [
  // The first ones: waits of others would be on the same card.
  {
    name: 'other pool',
    kind: 'pool',
    cause: /of pool 2, first used by GET .+; meanwhile for longest GET \/holds-a-rep|took \d+ % GET \/holds-a-rep/,
    make: async (app) => {
      await app.ask('n-plus-one');
      const first = app.ask('holds-a-report');
      await sleep(200);
      await Promise.all([first, app.ask('wants-a-report')]);
    },
  },
  {
    name: 'pool',
    cause: /meanwhile for longest GET \/holds-a-connection\/:id \(request \d+|took \d+ % GET \/holds-a-connection\/:id/,
    make: async (app) => {
      const early = ['holds-a-connection', 'holds-a-connection'].map((path) => app.ask(path));
      const open = async (): Promise<number> => (await app.read<Now>('now')).transactions.open;
      // SQLite opens one transaction at a time, so the other waits there.
      for (let turn = 0; turn < 50 && (await open()) < early.length; turn++) await sleep(5);
      await sleep(20);
      await Promise.all([...early, app.ask('wants-a-connection')]);
    },
  },
  { name: 'N+1', cause: /sent the statement 12 times/, make: asked('n-plus-one') },
  { name: 'calls in a row', kind: 'N+1', cause: /One request called 127\.0\.0\.1:\d+ 6 times, for \d+ ms in all/ },
  { name: 'leak', cause: /application > job.* is open for more than 0\.3 s/ },
  { name: 'deadlock', cause: /40P01 .* after 1 rollback/, not: 'SQLite', make: asked('deadlock-up', 'deadlock-down') },
  { name: 'captive', kind: 'graph', cause: /Captive dependency: 'IGreeter' .* outlives 'IUser'/, make: asked('fine') },
  { name: 'failed service', cause: /IPrices could not be created for IInvoices: RangeError/ },
  { name: 'missing key', kind: 'failed service', cause: /IMailer could not be created: .* AMBIT_NOT_REGISTERED/ },
  // It goes on for three seconds: no wait for a connection is looked for meanwhile, nor another application.
  { name: 'never stopped', cause: /goes on after 2 requests/, make: asked('never-stopped', 'never-stopped') },
  { name: 'aborted', cause: /disconnected after \d/, make: (app) => app.ask('aborted', 1500) },
  { name: 'failed commit', cause: /COMMIT was refused: .*23503 foreign key violation/ },
  { name: 'failed handler', cause: /failed with TypeError: Cannot read properties of undefined \(reading 'status'\)/ },
  { name: 'raised', kind: 'failed statement', cause: /P0001 raised .+: in function refuse\(\), line 1/, not: 'SQLite' },
  { name: 'conflict', cause: /^Another .*40001 .* 1 rollback/, not: 'SQLite', make: asked('conflict', 'conflict') },
  { name: 'failed statement', cause: /23505 unique violation/ },
  { name: 'after commit', cause: /after its transaction had finished/ },
  { name: 'idle transaction', cause: /open for \d+\.\d s without a statement; meanwhile it waited for 127\.0\.0\.1/ },
  { name: 'slow call', cause: /call to 127\.0\.0\.1:\d+ took \d+\.\d s/ },
  {
    name: 'blocked loop',
    cause: /^blocked-loop\(\) kept this process from everything else for .+s/,
    // Reading the samples before may take a twentieth of the time.
    make: async (app) => {
      await sleep(2000);
      await app.ask('fine');
      await app.ask('blocked-loop');
    },
  },
  { name: 'slow statement', kind: 'slow', cause: /in one statement/ },
  { name: 'finding', cause: /outside of the open transaction/ },
  { name: 'second connection', cause: /inside of a transaction that holds one/, make: asked(...THRICE) },
  { name: 'error committed', cause: /^Responded 404, and committed/ },
  { name: 'failed callback', cause: /callback of the transaction failed with TypeError.*; the response \(200\)/ },
  { name: 'failed disposal', cause: /^IUpload could not be disposed: EvalError/ },
  { name: 'hidden failure', cause: /^Responded 200 although its call POST 127\.0\.0\.1:\d+ failed with 503/ },
  {
    name: 'unhandled',
    cause: /^Nobody handled a rejection: TypeError/,
    make: async (app) => {
      const handle = (): undefined => undefined;
      process.on('unhandledRejection', handle);
      await app.ask('unhandled');
      await sleep(50);
      process.off('unhandledRejection', handle);
    },
  },
  { name: 'repeated call', cause: /^The call POST 127\.0\.0\.1:\d+ failed with TimeoutError.* and was sent again/ },
  { name: 'many rows', cause: /^GET \/many-rows\/:id read 20,736 rows$/ },
  {
    name: 'growing',
    cause: /^The Map #seen of IVisits, a singleton, grew from \d+ to \d+ entries while \d+ requests came$/,
    make: async (app) => {
      for (let round = 0; round < 5; round++) {
        await Promise.all(Array.from({ length: 30 }, () => app.ask('growing')));
        await sleep(1010);
        await app.read('now');
      }
    },
  },
  { name: 'hanging disposal', kind: 'failed disposal', cause: /^IPrinter\.dispose\(\) has not settled: its scope/ },
  { name: 'held connection', kind: 'leak', cause: /^A connection is out since [\d:]+, taken by GET \/held-con/ },
  { name: 'runs overlap', work: 'job', cause: /begins each \d+ ms and takes longer: \d runs of it go on at once$/ },
  { name: 'fails each time', work: 'report', cause: /failed in each of its last [34] runs, now with RangeError/ },
  { name: 'failed handler of work', work: 'transaction', cause: /^The work failed with SyntaxError: the import/ },
  { name: 'leak of work', work: 'expiry', cause: /> expiry\) is open for more than 0\.3 s beside 19 or more/ },
  { name: 'N+1 of work', work: 'worker', cause: /sent the statement 6 times/ },
  { name: 'hidden failure of work', work: 'delivery of order.placed', cause: /^Was done although .* failed with 422/ },
];

/** `packages/inspector/test/support/handlers.mjs:66` */
function lineOf({ name }: Fault): string {
  const lines = readFileSync(new URL('support/handlers.mjs', import.meta.url), 'utf8').split('\n');
  const line = lines.findIndex((text) => text.includes(`fault: ${name} *`) || text.endsWith(`fault: ${name}`));
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
  const { name, work } = fault;
  const job = work === undefined ? undefined : (): Promise<unknown> => app.jobs[name.replace(' of work', '')]!();
  const make = fault.make ?? job ?? asked(name.replaceAll(' ', '-'));
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
  const { name, work, kind = name.replace(' of work', ''), cause } = fault;
  const [what, where] = [expect.stringMatching(cause) as string, expect.stringContaining(lineOf(fault)) as string];
  const route = expect.stringMatching(new RegExp(`^work ${work} .*support/handlers\\.mjs:\\d+`)) as string;
  const more = work === undefined ? {} : { routes: [route] };
  return expect.objectContaining({ kind, cause: what, where, ...more }) as ReturnType<typeof expectedOf>;
};

/** Each host and each database once: what a host or a database does differently, its contract says. */
describe.each<[string, Database]>([
  ['Fastify', 'SQLite'],
  ['Express', 'PostgreSQL'],
])('the inspector names the cause of a fault and its line, on %s with %s', (name, database) => {
  let app: FaultyApp;
  beforeAll(async () => {
    const host = hosts.find((one) => one.name === name);
    app = await startFaulty(database, host);
  });
  afterAll(() => app.close());

  /** The graph is wrong from the start. A busy machine may stop between any two lines, for longer than what is called long. */
  const isOfTime = ({ kind, cause }: Trouble) =>
    /^(blocked loop|graph|slow)$/.test(kind) || /open for long/.test(cause);

  it('but none without trouble, of a request that the application refused, or of a client that leaves a stream of events', async () => {
    for (const [path, status] of Object.entries({ fine: 200, refused: 409, waits: 200 }))
      expect(await app.ask(path)).toBe(status);
    await app.ask('events', 1500);
    const left = { route: '/events/:id', state: 'aborted', trouble: false };
    await expect.poll(() => app.read('requests')).toContainEqual(expect.objectContaining(left));
    const troubles = await app.read<Trouble[]>('troubles');
    expect(troubles.filter((one) => !isOfTime(one))).toEqual([]);
  });

  it('one card for a client that leaves an export, with all that fails for it', async () => {
    await app.ask('export', 500);
    const ofExport = async (): Promise<Trouble[]> =>
      (await app.read<Trouble[]>('troubles')).filter(
        (one) => one.routes.includes('GET /export/:id') && !isOfTime(one) && one.kind !== 'idle transaction',
      );
    await expect.poll(ofExport).toHaveLength(1);
    await sleep(500);
    const where = expect.stringContaining(lineOf({ name: 'export', cause: /./ })) as string;
    expect(await ofExport()).toMatchObject([{ kind: 'aborted', where }]);
  });

  it('and work without trouble as a request of the list, with its transaction', async () => {
    await app.jobs['fine']!();
    const requests = await app.read<RequestSummary[]>('requests');
    const fine = requests.filter(({ route }) => route.startsWith('fine '));
    const known = { method: 'work', status: 200, outcome: 'committed', open: 0, trouble: false };
    expect(fine).toMatchObject([known, known, known, known]);
  });

  it.each(FAULTS.filter(({ not }) => not !== database))('$name', async (fault) => {
    expect(await troublesOf(app, fault)).toContainEqual(expectedOf(fault));
  });
});
