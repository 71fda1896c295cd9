import { Registration } from '@ambit/container';
import { connectionLost, Pause } from '@ambit/test-kit';
import { TransactionError } from '@ambit/transaction';
import type { Endpoint } from '../../src/api/document.js';
import { Health } from '../../src/health.js';
import { Problem } from '../../src/problem.js';
import type { User } from '../../src/users/users.js';
import type { JsonResponse, Request } from './http.js';
import { ordersAnd, usersAnd } from './replacements.js';
import type { Stage } from './stage.js';

interface Situation {
  readonly stage: Stage;
  /** The operation's first example. */
  readonly asked: Request;
  /** The example of the response. */
  readonly example: unknown;
}

type Way = (situation: Situation) => Promise<JsonResponse<unknown>>;

const KEY = { 'idempotency-key': 'a-key' };

const ask: Way = ({ stage, asked }) => stage.app.request(asked);

const askWith =
  (change: (asked: Request) => Partial<Request>): Way =>
  ({ stage, asked }) =>
    stage.app.request({ ...asked, ...change(asked) });

const askWithBody = (change: object): Way => askWith(({ body }) => ({ body: { ...(body as object), ...change } }));

/** Sends the request when these users are stored. */
const askAmong: Way = async ({ stage, asked, example }) => {
  for (const { id, name, email } of [example].flat() as User[])
    await stage.rows('INSERT INTO users (id, name, email) VALUES ($1, $2, $3)', [id, name, email]);
  return stage.app.request(asked);
};

const sendWhenRepositories =
  (fail: () => never): Way =>
  ({ stage, asked }) => {
    const users = Registration.fromValue({ findAll: fail, findById: fail, create: fail }).to('IUserRepository');
    stage.replace(users, ordersAnd(fail));
    return stage.app.request(asked);
  };

const askWhileAsked: Way = async ({ stage, asked }) => {
  const pause = new Pause();
  stage.replace(usersAnd(pause.here), ordersAnd(pause.here));
  const first = stage.app.request({ ...asked, headers: KEY });
  await pause.reached;
  const response = await stage.app.request({ ...asked, headers: KEY });
  pause.letGo();
  await first;
  return response;
};

const sendWhen =
  (phase: 'starting' | 'started' | 'draining', failure: () => Error = connectionLost): Way =>
  ({ stage, asked }) => {
    const health = new Health({ query: async () => Promise.reject(failure()) }, stage.app.log.logger);
    if (phase === 'draining') health.draining();
    if (phase === 'started') health.started();
    stage.report(health);
    return stage.app.request(asked);
  };

const refusal = (sqlState: string) => (): Error =>
  new TransactionError('AMBIT_TX_STATEMENT_FAILED', 'The statement failed', { sqlState });

const askWhileOnlyReplicasRespond: Way = ({ stage, asked }) => {
  const primary = { query: async () => Promise.reject(connectionLost()) };
  const health = new Health(primary, stage.app.log.logger, [{ query: async () => [] }]);
  health.started();
  stage.report(health);
  return stage.app.request(asked);
};

/** How to cause each documented response; a body of 201 belongs to the request of the same name. */
const WAYS: Readonly<Record<string, Way>> = {
  '200 nobody': ask,
  '200 two': askAmong,
  '200 ada': askAmong,
  '200 live': ask,
  '200 ready': ask,
  '200 readsOnly': askWhileOnlyReplicasRespond,
  '400 badLimit': askWith(({ path }) => ({ path: `${path}?limit=0` })),
  '400 badAfter': askWith(({ path }) => ({ path: `${path}?after=me` })),
  '400 malformed': askWith(({ path }) => ({ path: `${path}%zz` })),
  '400 absent': askWith(() => ({ body: undefined })),
  '400 notJson': askWith(() => ({ body: '{' })),
  '400 emptyName': askWithBody({ name: '' }),
  '400 noEmail': askWithBody({ email: undefined }),
  '400 badEmail': askWithBody({ email: 'ada' }),
  '400 noItems': askWithBody({ items: [] }),
  '400 badQuantity': askWithBody({ items: [{ productId: 'apple', quantity: 0 }] }),
  '400 badKey': askWith(() => ({ headers: { 'idempotency-key': 'two words' } })),
  '401 unknownToken': ({ stage, asked }) => {
    stage.app.identify = () => {
      throw new Problem(401, 'The token is not known', { 'www-authenticate': 'Bearer' });
    };
    return stage.app.request(asked);
  },
  '404 nobody': ask,
  '409 keyInUse': askWhileAsked,
  '409 notEnough': async ({ stage, asked }) => {
    await stage.rows(`INSERT INTO stock (product_id, level) VALUES ('apple', 2)`);
    return stage.app.request(asked);
  },
  '413 tooLarge': async ({ stage, asked }) => {
    const client = await stage.app.client();
    // The body is announced and not sent: a client that is still sending may miss the response.
    client.send({ ...asked, body: '', headers: { 'content-length': String(2 ** 20 + 1) } });
    const { status, headers, text } = await client.response();
    client.reset();
    return { status, headers: new Headers(headers), body: JSON.parse(text) as unknown };
  },
  '415 noJson': askWith(() => ({ headers: { 'content-type': 'text/plain' } })),
  '415 encoded': askWith(() => ({ headers: { 'content-encoding': 'gzip' } })),
  '422 keyUsed': async ({ stage, asked }) => {
    await stage.app.request({ ...asked, headers: KEY });
    const other = asked.path.endsWith('users') ? { name: 'Other' } : { items: [{ productId: 'other', quantity: 1 }] };
    return stage.app.request({ ...asked, headers: KEY, body: { ...(asked.body as object), ...other } });
  },
  '500 ours': sendWhenRepositories(() => {
    throw new Error('It went wrong');
  }),
  '503 tryAgain': sendWhenRepositories(() => {
    throw connectionLost();
  }),
  '503 outcomeUnknown': ({ stage, asked }) => {
    stage.after('commit', () => {
      throw connectionLost();
    });
    return stage.app.request({ ...asked, headers: KEY });
  },
  '503 starting': sendWhen('starting'),
  '503 draining': sendWhen('draining'),
  '503 noResponse': sendWhen('started'),
  '503 readOnly': sendWhen('started', refusal('25006')),
  '503 diskFull': sendWhen('started', refusal('53100')),
  '503 storageFails': sendWhen('started', refusal('58030')),
  '503 damaged': sendWhen('started', refusal('XX001')),
};

export const waysKnown: readonly string[] = Object.keys(WAYS);

/** A response that the document describes. */
export interface Promised {
  readonly status: number;
  readonly name: string;
  readonly example: unknown;
}

export function wayTo({ status, name }: Promised): string | undefined {
  const way = `${status} ${name}`;
  return status === 201 || way in WAYS ? way : undefined;
}

/** Makes the service send the documented response. */
export function produce(
  stage: Stage,
  { method, path, request }: Endpoint,
  { status, name, example }: Promised,
): Promise<JsonResponse<unknown>> {
  const examples = request?.['application/json'].examples ?? {};
  const body = (examples[name] ?? Object.values(examples)[0])?.value;
  const asked = { method, path: path.replace('{id}', '019a9f3e-7c1b-7d52-9c3b-2f6f1f0a4b11'), body };
  return (WAYS[`${status} ${name}`] ?? ask)({ stage, asked, example });
}
