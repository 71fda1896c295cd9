import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import type { IContainer } from '@ambit/container';
import type { IConnection } from '@ambit/transaction';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { RawClient, type RawResponse, type RequestText } from '@ambit/testing/tools';
import type { DatabaseKind } from '../libraries/databases.js';
import { type Outcome, Orders } from './orders.js';

type Place = 'before' | 'behind';

/** Called with the status of a response by a middleware that logs it. */
export type Log = (line: string) => void;

/** A middleware, or a few together, of the kind that its framework takes. */
export interface Middleware<M> {
  readonly name: string;
  readonly use: (log: Log) => M;
  /** Whether it logs each response. Default: it logs none. */
  readonly logs?: boolean;
  /** Default: before the transaction and behind it. */
  readonly places?: readonly Place[];
  /** Default: those of the framework. */
  readonly requests?: readonly RequestText[];
  /** What a request must be besides. */
  readonly request?: Omit<RequestText, 'path'>;
  /** A header that is never the same twice. */
  readonly varies?: string;
}

/** An application with the same handlers on Ambit and without it. */
export interface Application<M> {
  readonly middleware: M;
  /** Without it the application knows nothing of Ambit. */
  readonly transaction?: {
    readonly container: IContainer;
    readonly middlewareIs: Place;
    readonly endTimeoutMs: number;
  };
  /** What a handler does before it responds. */
  readonly work: (scope: IContainer | undefined) => Promise<void>;
  /** Called with what reaches the error handler, and with what is reported besides. */
  readonly onError: (error: unknown) => void;
}

export interface Framework<M> {
  readonly name: string;
  readonly middlewares: readonly Middleware<M>[];
  readonly requests: readonly RequestText[];
  start(application: Application<M>): Promise<Running>;
}

export interface Running {
  readonly port: number;
  close(): Promise<void>;
}

const PLACES: readonly Place[] = ['before', 'behind'];

const ERRORS = {
  fails: {
    status: 500,
    body: { type: 'about:blank', status: 500, detail: 'Internal error', code: 'AMBIT_TX_COMMIT_FAILED' },
  },
  hangs: {
    status: 503,
    body: { type: 'about:blank', status: 503, detail: 'Try again later', code: 'AMBIT_TX_OUTCOME_UNKNOWN' },
  },
};
/** How long a COMMIT that hangs is waited for, and what has to happen at all. */
const HANGS_MS = 20;
const DEADLINE_MS = 120_000;

/** On the wire there is the response of the application without Ambit, or one error where COMMIT did not succeed; and nobody waits. */
export function middlewareContract<M>(framework: Framework<M>): void {
  const cases = framework.middlewares.flatMap((middleware) =>
    (middleware.places ?? PLACES).map((place) => ({ middleware, name: middleware.name, place })),
  );

  describe.each(['PostgreSQL', 'SQLite'] as const)(`on ${framework.name} with %s`, (kind: DatabaseKind) => {
    let orders: Orders;
    beforeAll(async () => (orders = await Orders.open(kind)));
    afterAll(() => orders.drop());

    async function onAmbit(middleware: Middleware<M>, place: Place, outcome: Outcome) {
      orders.outcome = outcome;
      const errors: unknown[] = [];
      const container = orders.openContainer();
      const endTimeoutMs = outcome === 'hangs' ? HANGS_MS : DEADLINE_MS;
      const exchanges = await exchangesWith(framework, middleware, {
        transaction: { container, middlewareIs: place, endTimeoutMs },
        work: (scope) => orders.insert(scope!.resolve<IConnection>('IConnection')),
        onError: (error) => errors.push(error),
      });
      await container.dispose();
      return { exchanges, errors, stored: await orders.takeStored() };
    }

    it.each(cases)('$name $place the transaction: the bytes are the same', async ({ middleware, place }) => {
      const { exchanges, errors, stored } = await onAmbit(middleware, place, 'succeeds');
      const withoutAmbit = await exchangesWith(framework, middleware, {
        work: async () => undefined,
        onError: (error) => errors.push(error),
      });
      const bytesOf = (all: readonly Exchange[]): object =>
        Object.fromEntries(all.map(({ request, response }) => [request, readable(response, middleware.varies)]));
      expect(bytesOf(exchanges)).toEqual(bytesOf(withoutAmbit));
      expect(errors).toEqual([]);
      expect(stored).toBe(exchanges.length);
    });

    it.each(cases.flatMap((row) => (['fails', 'hangs'] as const).map((outcome) => ({ ...row, outcome }))))(
      '$name $place the transaction: one error where COMMIT $outcome',
      async ({ middleware, place, outcome }) => {
        const { exchanges, errors, stored } = await onAmbit(middleware, place, outcome);
        const { status, body } = ERRORS[outcome];
        expect(exchanges.map(({ request, response }) => ({ request, ...errorIn(response) }))).toEqual(
          exchanges.map(({ request }) => ({
            request,
            status,
            ...(!request.startsWith('HEAD') && { body, isFramed: true }),
          })),
        );
        expect(errors).toMatchObject(exchanges.map(() => ({ code: body.code })));
        expect(stored).toBe(0);
      },
    );
  });
}

interface Exchange {
  /** What was sent, to tell it from others. */
  readonly request: string;
  readonly response: RawResponse;
}

/** Sends all requests to an application at a time, each on a connection of its own. */
async function exchangesWith<M>(
  framework: Framework<M>,
  { use, logs = false, requests = framework.requests, request: common }: Middleware<M>,
  application: Omit<Application<M>, 'middleware'>,
): Promise<Exchange[]> {
  const log: string[] = [];
  const { port, close } = await framework.start({ middleware: use((line) => log.push(line)), ...application });
  try {
    const exchanges = requests.map(async (own) => {
      const { method = 'GET', ...sent } = { ...common, ...own, headers: { ...common?.headers, ...own.headers } };
      const request = `${method} ${own.path} ${JSON.stringify(sent.headers)}`;
      return { request, response: await exchange(port, { method, ...sent }) };
    });
    const done = await Promise.all(exchanges);
    const statuses = logs ? done.map(({ response }) => String(response.status)).toSorted() : [];
    await vi.waitFor(() => expect(log.map((line) => line.trim()).toSorted()).toEqual(statuses), DEADLINE_MS);
    return done;
  } finally {
    await close();
  }
}

/** One response in time, and nothing behind it: the next one comes whole on the same connection, or that is closed. */
async function exchange(port: number, request: RequestText): Promise<RawResponse> {
  const client = await RawClient.connect(port);
  try {
    client.send(request);
    const response = await client.response(DEADLINE_MS);
    if (response.headers['connection'] === 'close') await client.closed();
    else expect((await client.request({ path: '/ping' })).status).toBe(200);
    expect(client.unread).toBe('');
    return response;
  } finally {
    client.leave();
  }
}

/** The bytes, but for the date and what else is never the same; of many a digest. */
function readable({ bytes }: RawResponse, varies = 'date'): string {
  const [head = ''] = bytes.toString('latin1').split('\r\n\r\n', 1);
  const lines = head.split('\r\n').filter((line) => !new RegExp(`^(date|${varies}):`, 'i').test(line));
  const rest = bytes.subarray(head.length + 4);
  const digest = `${rest.length} bytes: ${createHash('sha1').update(rest).digest('hex')}`;
  return [...lines, '', rest.length < 1000 ? rest.toString('latin1') : digest].join('\n');
}

/** What a client makes of an error; of one without a body, Hono does not say how long it would be. */
function errorIn({ status, headers, body }: RawResponse): object {
  const { 'content-encoding': encoding = 'identity', 'content-length': length, 'transfer-encoding': chunks } = headers;
  if (body.length === 0) return { status };
  return { status, body: JSON.parse(String(DECODERS[encoding]?.(body))), isFramed: (length ?? chunks) !== undefined };
}

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = { identity: (bytes) => bytes, gzip: gunzipSync };
