import {
  createIdempotency,
  type Idempotency,
  type IdempotencyDialect,
  type IdempotencyError,
  type IdempotencyOptions,
  type IdempotentRequest,
  type IdempotentResponse,
  type NewResponse,
} from '@ambit/idempotency';
import type { IConnection } from '@ambit/transaction';
import type { IContainer } from '@ambit/container';
import type { Call, Reply, Stage, StageOptions, StageTest } from '@ambit/testing/hosts';
import { describe, expect } from 'vitest';
import {
  connectionLost,
  type DatabaseKind,
  Pause,
  type RawResponse,
  type RequestText,
  type WatchedConnection,
} from '@ambit/test-kit';

const DOCUMENTATION = 'https://example.org/idempotency';
const DAY_MS = 86_400_000;

interface Created {
  readonly id: string;
}

type Placed = NewResponse<Created | { readonly error: string }>;

interface Terms extends Partial<IdempotentRequest> {
  readonly options?: Partial<IdempotencyOptions>;
  /** In place of an order that is stored. */
  readonly work?: (scope: IContainer, place: () => Promise<Placed>) => Promise<Placed>;
}

/** `POST /orders` of an application: it stores an order with an id of its own each time that its work is done. */
class Shop {
  readonly key: string = crypto.randomUUID();
  readonly #stage: Stage;
  readonly #idempotency: Idempotency;
  readonly #inTransaction: boolean;
  /** How often the work was begun. */
  begun = 0;
  terms: Terms;

  constructor(stage: Stage, dialect: IdempotencyDialect, inTransaction: boolean, terms: Terms = {}) {
    this.#stage = stage;
    this.#inTransaction = inTransaction;
    this.terms = terms;
    this.#idempotency = createIdempotency(stage.pool, { dialect, documentation: DOCUMENTATION, ...terms.options });
  }

  async open(options: StageOptions = {}): Promise<void> {
    const serve = (call: Call): Promise<Reply> => this.#handle(call);
    if (this.#inTransaction) return this.#stage.serveOrder(serve, options);
    return this.#stage.serve([{ method: 'POST', path: '/orders', handle: serve }], options);
  }

  /** Posts an order. Without headers it is under the key of the shop. */
  post(headers: RequestText['headers'] = { 'idempotency-key': this.key }, body: unknown = {}): Promise<RawResponse> {
    return this.#stage.request({ method: 'POST', path: '/orders', headers, body });
  }

  async #handle(call: Call): Promise<Reply> {
    const { status, headers, body } = await this.#respond(call);
    call.setHeaders(headers);
    return { kind: 'json', status, body };
  }

  #respond(call: Call): Promise<IdempotentResponse<Placed['body']>> {
    const { caller, endpoint = 'POST /orders', required = false, work } = this.terms;
    const request = { key: call.header('idempotency-key'), caller, endpoint, input: call.body, required };
    const scope = this.#inTransaction ? call.transactionScope : call.scope;
    return this.#idempotency.respond(scope, request, (inner) => {
      this.begun += 1;
      const place = (): Promise<Placed> => this.#place(inner);
      return work ? work(inner, place) : place();
    });
  }

  async #place(scope: IContainer): Promise<Placed> {
    const id = crypto.randomUUID();
    await scope.resolve<IConnection>('IConnection').query('INSERT INTO orders (id) VALUES ($1)', [id]);
    return { status: 201, headers: { location: `/orders/${id}` }, body: { id } };
  }

  /** How many of the orders in these responses are stored. */
  async stored(...responses: RawResponse[]): Promise<number> {
    const ids = responses.map(({ text }) => (JSON.parse(text) as Partial<Created>).id).filter((id) => id !== undefined);
    const stored = await Promise.all([...new Set(ids)].map((id) => this.#stage.stored(id)));
    return stored.filter(Boolean).length;
  }

  /** The error that the request was refused with. */
  get refusal(): IdempotencyError {
    return this.#stage.errors.at(-1) as IdempotencyError;
  }
}

const refuseToPlace = (): Placed => ({ status: 402, body: { error: 'The card was declined' } });

const isReplay = ({ headers }: RawResponse): boolean => headers['idempotency-replayed'] === 'true';

/** What the page of the package promises of each requirement of the draft, on every host. */
export function idempotencyContract(test: StageTest, { dialect }: DatabaseKind): void {
  describe.each([
    ['in a transaction that it begins', false],
    ["in the host's transaction", true],
  ])('Idempotency-Key, %s', (_, inTransaction) => {
    async function open(stage: Stage, terms?: Terms): Promise<Shop> {
      const shop = new Shop(stage, dialect, inTransaction, terms);
      await shop.open();
      return shop;
    }

    test('is a String in double quotes; without them it is the same key', async ({ stage }) => {
      const shop = await open(stage);
      const first = await shop.post({ 'idempotency-key': `"${shop.key}"` });
      expect(first.status).toBe(201);
      expect(isReplay(first)).toBe(false);
      for (const spelling of [`"${shop.key}"`, shop.key, `"${shop.key}";retry=2`]) {
        const again = await shop.post({ 'idempotency-key': spelling });
        expect([again.status, again.text, isReplay(again)]).toEqual([201, first.text, true]);
      }
      expect(shop.begun).toBe(1);
    });

    test('is refused with 400 where it is malformed or given twice, and nothing is done', async ({ stage }) => {
      const shop = await open(stage);
      for (const key of [
        '',
        'two words',
        '"open',
        '""',
        '"a" b',
        '"\\n"',
        'é',
        'x'.repeat(256),
        `"${'x'.repeat(256)}"`,
      ]) {
        expect([key, (await shop.post({ 'idempotency-key': key })).status]).toEqual([key, 400]);
        expect(shop.refusal.problem).toBe('malformed');
      }
      expect((await shop.post({ 'idempotency-key': shop.key, 'Idempotency-Key': shop.key })).status).toBe(400);
      expect(shop.begun).toBe(0);
    });

    test('is needed where the application requires it, and is optional elsewhere', async ({ stage }) => {
      const shop = await open(stage, { required: true });
      expect((await shop.post({})).status).toBe(400);
      expect(shop.refusal).toMatchObject({
        problem: 'missing',
        message: expect.stringContaining(DOCUMENTATION) as string,
        headers: { link: `<${DOCUMENTATION}>; rel="describedby"` },
      });
      expect(shop.begun).toBe(0);
      shop.terms = {};
      const two = [await shop.post({}), await shop.post({})];
      expect(two.map(({ status }) => status)).toEqual([201, 201]);
      expect(two.some(isReplay)).toBe(false);
      expect(await shop.stored(...two)).toBe(2);
    });

    test('of a completed request gives its status, headers and body again', async ({ stage }) => {
      const shop = await open(stage);
      const first = await shop.post();
      expect([first.status, isReplay(first), await shop.stored(first)]).toEqual([201, false, 1]);
      for (let times = 0; times < 2; times++) {
        const again = await shop.post();
        expect([again.status, again.text, again.headers['location']]).toEqual([
          201,
          first.text,
          first.headers['location'],
        ]);
        expect(isReplay(again)).toBe(true);
      }
      expect(shop.begun).toBe(1);
    });

    test('of a request that is running is refused with 409 and Retry-After', async ({ stage }) => {
      const pause = new Pause();
      const shop = await open(stage, {
        work: async (_scope, place) => {
          await pause.here();
          return place();
        },
      });
      const first = shop.post();
      await pause.reached;
      const second = shop.post();
      // The host has begun its transaction before: on SQLite that waits for the first one.
      const waits = inTransaction && dialect === 'sqlite';
      if (!waits) {
        expect((await second).status).toBe(409);
        expect(shop.refusal).toMatchObject({ problem: 'running', headers: { 'retry-after': '1' } });
      }
      pause.letGo();
      const created = await first;
      expect(created.status).toBe(201);
      if (waits) expect(isReplay(await second)).toBe(true);
      expect((await shop.post()).text).toBe(created.text);
      expect(shop.begun).toBe(1);
    });

    test('with another payload, or at another endpoint, is refused with 422', async ({ stage }) => {
      const shop = await open(stage);
      const first = await shop.post();
      expect((await shop.post(undefined, { other: true })).status).toBe(422);
      expect(shop.refusal.problem).toBe('reused');
      shop.terms = { endpoint: 'POST /invoices' };
      expect((await shop.post()).status).toBe(422);
      shop.terms = {};
      expect((await shop.post()).text).toBe(first.text);
      expect(shop.begun).toBe(1);
    });

    test('of another caller is another key', async ({ stage }) => {
      const shop = await open(stage, { caller: 'Ada' });
      const first = await shop.post();
      for (const caller of ['Grace', `Ada\n${shop.key}`, undefined]) {
        shop.terms = { caller };
        expect(isReplay(await shop.post())).toBe(false);
      }
      shop.terms = { caller: 'Ada' };
      expect((await shop.post()).text).toBe(first.text);
    });

    test('of an error that the work returned gives that error again', async ({ stage }) => {
      const shop = await open(stage, { work: async () => refuseToPlace() });
      const first = await shop.post();
      expect(first.status).toBe(402);
      const again = await shop.post();
      expect([again.status, again.text, isReplay(again)]).toEqual([402, first.text, true]);
      expect(shop.begun).toBe(1);
    });

    test('of work that threw is not stored, and the work is done when it is repeated', async ({ stage }) => {
      const shop = await open(stage, {
        work: async (_scope, place) => {
          await place();
          throw new Error('It went wrong');
        },
      });
      expect((await shop.post()).status).toBe(500);
      shop.terms = {};
      const again = await shop.post();
      expect([again.status, isReplay(again)]).toEqual([201, false]);
      expect(isReplay(await shop.post())).toBe(true);
      expect(shop.begun).toBe(2);
    });

    test('is new after it has expired', async ({ stage }) => {
      const shop = await open(stage);
      const first = await shop.post();
      const age = (ms: number): Promise<unknown> =>
        stage.database.pool.query(
          `UPDATE idempotency_keys SET created_at = created_at - ${ms} WHERE idempotency_keys.key = $1`,
          [shop.key],
        );
      await age(DAY_MS - 60_000);
      expect((await shop.post()).text).toBe(first.text);
      await age(60_000);
      const again = await shop.post(undefined, { other: true });
      expect([again.status, isReplay(again)]).toEqual([201, false]);
      expect(await shop.stored(first, again)).toBe(2);
    });

    test('sent by 20 clients at once is done once', async ({ stage }) => {
      const shop = await open(stage);
      const responses = await Promise.all(Array.from({ length: 20 }, () => shop.post()));
      const created = responses.filter(({ status }) => status === 201);
      expect(created.filter((response) => !isReplay(response))).toHaveLength(1);
      expect(responses.filter(({ status }) => status === 409)).toHaveLength(20 - created.length);
      expect(new Set(created.map(({ text }) => text)).size).toBe(1);
      expect(shop.begun).toBe(1);
    });

    test('is refused with its status and Retry-After, without an error handler of the application, too', async ({
      stage,
    }) => {
      const pause = new Pause();
      const shop = new Shop(stage, dialect, inTransaction, { work: () => pause.here().then(refuseToPlace) });
      await shop.open({ ownErrorHandler: false });
      expect((await shop.post({ 'idempotency-key': '' })).status).toBe(400);
      if (inTransaction && dialect === 'sqlite') return;
      const first = shop.post();
      await pause.reached;
      const second = await shop.post();
      expect([second.status, second.headers['retry-after']]).toEqual([409, '1']);
      // These send the headers of an error, as their frameworks do.
      if (/Express|Fastify/.test(stage.host.name)) expect(second.headers['link']).toContain(DOCUMENTATION);
      pause.letGo();
      expect((await first).status).toBe(402);
    });

    test('of a response that was lost tells that it was done', async ({ stage }) => {
      const pause = new Pause();
      const shop = await open(stage);
      stage.pool.after('commit', pause.here);
      const client = await stage.sends({
        method: 'POST',
        path: '/orders',
        body: {},
        headers: { 'idempotency-key': shop.key },
      });
      await pause.reached;
      client.reset();
      pause.letGo();
      await stage.quiet();
      stage.pool.after('commit', () => undefined);
      const again = await shop.post();
      expect([again.status, isReplay(again), await shop.stored(again)]).toEqual([201, true, 1]);
      expect(shop.begun).toBe(1);
    });

    test.for([
      ['was stored', 'after', true],
      ['was not stored', 'before', false],
    ] as const)(
      'whose COMMIT has an unknown result tells whether the work %s',
      async ([, when, isStored], { stage }) => {
        const shop = await open(stage);
        const kill = async (connection: WatchedConnection): Promise<void> => {
          await stage.database.kill(connection);
          connection.die();
          if (when === 'after') throw connectionLost();
        };
        stage.pool[when]('commit', kill);
        const lost = await shop.post();
        expect(lost.status).toBe(503);
        expect(stage.errors.at(-1)).toMatchObject({ code: 'AMBIT_TX_OUTCOME_UNKNOWN' });
        await stage.quiet();
        stage.pool[when]('commit', () => undefined);
        const again = await shop.post();
        expect([again.status, isReplay(again), await shop.stored(again)]).toEqual([201, isStored, 1]);
        expect(shop.begun).toBe(isStored ? 1 : 2);
      },
    );
  });
}
