// The contract of hosts inside of a Worker: one request runs the tests, whose clients send others to the same Worker by way of the edge.
import { getTests } from '@vitest/runner/utils';
import { startTests, type TaskResult, type Test, type VitestRunner } from '@vitest/runner';
import { type Exception, type Host, hostContract, type RunningHost } from '@ambit/testing/hosts';
import { poolContract } from '@ambit/testing/pools';
import { LACKS } from '../../../packages/drivers/test/support/lacks.js';
import { fetchApp, WITHOUT_A_SOCKET } from '../../hosts/adapters/fetch-app.js';
import { honoApp, OF_HONO } from '../../hosts/adapters/hono-app.js';
import { databaseOf, type ObjectStorage, poolsIn, poolsOf } from './database.js';

interface Env {
  readonly DATABASE_URL: string;
  readonly OBJECT: {
    idFromName(name: string): unknown;
    get(id: unknown): { fetch(request: Request): Promise<Response> };
  };
}

interface Context {
  waitUntil(work: Promise<unknown>): void;
}

type Fetch = (request: Request, env: Env, ctx: Context) => Response | Promise<Response>;

const IN_A_WORKER: readonly Exception[] = [
  { test: /closing|a server that closes|since the shutdown began/, because: 'a Worker is not asked to shut down' },
  {
    test: /I(Request|Shutdown)Signal/,
    because: 'the test looks at a signal of another request, which workerd refuses',
  },
  {
    test: /those of clients|to spare|no connection comes|waiting for a connection|waits? for a connection/,
    because: 'each request has a pool of its own',
  },
  {
    test: /took the open transactions|while a connection is acquired/,
    because: 'one request would use a socket of another',
  },
  {
    test: /gets it back unused|opens nothing for a client/,
    because: 'workerd stops what a finished request still does, and waits for its disposal only',
  },
  { test: /are forgotten, though/, because: 'a Worker has no gc()' },
  { test: /with HEAD disposes/, because: 'workerd responds to HEAD without a Content-Length' },
  { test: /100 Continue/, because: 'workerd sends none' },
  { test: /says HTTP\/2/, because: 'workerd refuses such a request' },
];

const IN_CHUNKS: Exception = {
  test: /would have been framed|refuses COMMIT is never/,
  because: 'workerd reads a body later than Node, so the response of an error handler goes out in chunks',
};

const POOLS = {
  name: 'workerd',
  hasSeveralWriters: true,
  isPostgres: true,
  cannot: {
    'publishes statements outside of a transaction, without their parameters, and none within one':
      'the messages have an empty object for the statement as well, as with a subscriber',
  },
};

const OF_AN_OBJECT = {
  name: 'a Durable Object',
  hasOneConnection: true,
  // A deferred constraint fails in the COMMIT of workerd, which then resets the object.
  refusedCommit: undefined,
  cannot: {
    ...POOLS.cannot,
    ...LACKS['durable-object'],
  },
};

/** The application of the test in progress. */
let serving: Fetch | undefined;

function hostOn(name: string, port: number): Host {
  const start = (fetch: Fetch, close: () => Promise<void>): RunningHost => {
    serving = fetch;
    return {
      port,
      close: async () => {
        serving = undefined;
        await close();
      },
    };
  };
  if (name === 'Hono')
    return {
      name: 'Hono on workerd',
      exceptions: [...WITHOUT_A_SOCKET, ...OF_HONO, ...IN_A_WORKER, IN_CHUNKS],
      start: async (description) => {
        const { app, close } = honoApp(description);
        const fetch: Fetch = (request, _env, ctx) => app.fetch(request, {}, ctx as never);
        return start(fetch, close);
      },
    };
  return {
    name: 'fetch on workerd',
    exceptions: [...WITHOUT_A_SOCKET, ...IN_A_WORKER],
    start: async (description) => {
      const app = fetchApp(description);
      const fetch: Fetch = (request, _env, ctx) => app.fetch(request, ctx).catch(app.respondToError);
      return start(fetch, app.close);
    },
  };
}

/** Reports each test as soon as it has run. */
async function run(addTests: () => void, only: string, tell: (line: object) => void): Promise<void> {
  const config = {
    root: '/',
    setupFiles: [],
    allowOnly: true,
    sequence: { hooks: 'stack', setupFiles: 'list' },
    maxConcurrency: 1,
    testTimeout: 300_000,
    hookTimeout: 300_000,
    retry: 0,
    tags: [],
    ...(only && { testNamePattern: new RegExp(only) }),
  };
  const report = (task: Test): void => {
    const { state = task.mode, errors = [], note } = (task.result ?? {}) as Partial<TaskResult & { note: string }>;
    tell({ title: titleOf(task), state, note, errors: errors.map(({ message, stack }) => stack ?? message) });
  };
  const runner: VitestRunner = {
    config: config as unknown as VitestRunner['config'],
    importFile: addTests,
    onAfterRunTask: report,
  };
  const [file] = await startTests(['/contract'], runner);
  for (const task of file ? getTests(file) : []) if (task.result?.state === 'skip') report(task);
  for (const error of file?.result?.errors ?? []) tell({ title: 'the file', state: 'fail', errors: [error.stack] });
}

/** A line for each test, as soon as it has run. */
function outcomesOf(request: Request, ctx: Context, addTests: () => void): Response {
  const only = new URL(request.url).searchParams.get('only') ?? '';
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const tell = (line: object): void => void writer.write(new TextEncoder().encode(`${JSON.stringify(line)}\n`));
  const failed = (error: unknown): void => tell({ title: 'the tests', state: 'fail', errors: [String(error)] });
  ctx.waitUntil(
    run(addTests, only, tell)
      .catch(failed)
      .then(() => writer.close()),
  );
  return new Response(readable);
}

type ObjectContext = Context & { readonly storage: ObjectStorage };

/** The contract of pools over the SQLite of this object. */
export class TestedObject {
  readonly #ctx: ObjectContext;

  constructor(ctx: ObjectContext) {
    this.#ctx = ctx;
  }

  fetch(request: Request): Response {
    const { storage } = this.#ctx;
    return outcomesOf(request, this.#ctx, () => poolContract({ ...OF_AN_OBJECT, open: () => poolsIn(storage) }));
  }
}

interface Titled {
  readonly name: string;
  readonly suite?: Titled | undefined;
}

function titleOf({ name, suite }: Titled): string {
  return suite ? `${titleOf(suite)} > ${name}` : name;
}

// A Worker is a module whose default export responds to requests.
// oxlint-disable-next-line import/no-default-export
export default {
  async fetch(request: Request, env: Env, ctx: Context): Promise<Response> {
    const { pathname, searchParams: asked } = new URL(request.url);
    if (pathname !== '/tests') {
      // A request that waits for no I/O counts as hung and is cancelled, and what these wait for comes from another request; a timer ends with its request.
      setTimeout(() => undefined, 60_000);
      // Without the rest of its context, this is no Worker that must have a pool for each request: the tests share one that opens a connection for each.
      const only: Context = { waitUntil: (work) => ctx.waitUntil(work) };
      return serving?.(request, env, only) ?? new Response('Nothing is served', { status: 503 });
    }
    const subject = asked.get('subject') ?? '';
    if (subject === 'fromDurableObject') return env.OBJECT.get(env.OBJECT.idFromName('a')).fetch(request);
    const { DATABASE_URL: url } = env;
    return outcomesOf(request, ctx, () =>
      subject === 'createPostgresPool'
        ? poolContract({ ...POOLS, open: () => poolsOf(url) })
        : hostContract(hostOn(subject, Number(asked.get('port'))), { databases: [databaseOf(url)] }),
    );
  },
};
