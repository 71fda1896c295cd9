import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Container } from '@ambit/container';
import { Chance, Happenings, RawClient, type RawResponse, requestText, ScopeLedger } from '@ambit/test-kit';
import type { Call, Host, Reply, RunningHost } from '@ambit/testing/hosts';

/** Only a failing pipeline waits that long. */
const RESPONSE_MS = 20_000;

/** How many requests of a connection may wait for their responses: few, the default, or more than any client pipelines here. */
const LIMITS = [3, 16, 1000] as const;

const ENDINGS = ['keep', 'keep', 'close', 'garbage', 'connect', 'upgrade', 'half', 'leave', 'reset'] as const;
type Ending = (typeof ENDINGS)[number];

/** What a handler is asked to do, in a header of GET and HEAD, and in the body of POST. */
interface Deed {
  readonly id: number;
  readonly kind: 'json' | 'text' | 'end' | 'stream' | 'status' | 'throw';
  readonly bytes: number;
  /** Before it responds, and between two parts of a stream: not at all, an iteration of the event loop, or so many milliseconds. */
  readonly wait: number;
  readonly pad?: string;
}

interface Expected {
  readonly status: number;
  /** Undefined where the host words it. */
  readonly text: string | undefined;
  readonly isChunked: boolean;
  readonly toHead: boolean;
  readonly isContinued: boolean;
}

interface Planned {
  readonly text: string;
  readonly expected: Expected;
}

/** All that one client sends, and what must come back. */
interface Plan {
  readonly limit: (typeof LIMITS)[number];
  readonly requests: readonly Planned[];
  readonly ending: Ending;
}

export interface PipelineFailure {
  readonly seed: number;
  readonly what: string;
}

/** One host with random pipelines on real sockets: the bytes, the order and the framing of each response are checked. */
export class PipelineTrial {
  /** Responses that came and were checked. */
  checked = 0;
  readonly #happenings = new Happenings();
  readonly #scopes = new ScopeLedger(this.#happenings);
  readonly #deeds = new AsyncLocalStorage<Deed>();
  readonly #upgrades = new Upgrades();
  readonly #running = new Map<number, RunningHost>();
  readonly #unfollow: (() => void)[] = [];

  static async on(host: Host): Promise<PipelineTrial> {
    const trial = new PipelineTrial();
    for (const limit of LIMITS) {
      const container = new Container({ tags: ['application'] });
      trial.#unfollow.push(trial.#scopes.follow(container));
      const handle = (call: Call): Promise<Reply> => trial.#handle(call);
      const running = await host.start({
        container,
        routes: [
          { method: 'GET', path: '/work', handle },
          { method: 'POST', path: '/work', handle },
        ],
        limits: { maxRequestsPerConnection: limit },
        before: (req, next) => trial.#deeds.run(deedOf(req), next),
        onDisposeError: () => undefined,
        onError: () => undefined,
      });
      trial.#running.set(limit, running);
    }
    return trial;
  }

  /** Plays pipelines until so many requests were sent; returns those that failed. */
  async play(firstSeed: number, requests: number): Promise<PipelineFailure[]> {
    const failures: PipelineFailure[] = [];
    let seed = firstSeed;
    let planned = 0;
    const client = async (): Promise<void> => {
      while (planned < requests && failures.length === 0) {
        const own = seed++;
        const { plan, chance } = planOf(own);
        planned += plan.requests.length;
        const failure = await this.#playOne(plan, chance);
        if (failure !== undefined) failures.push({ seed: own, what: failure });
      }
    };
    await Promise.all(Array.from({ length: 6 }, client));
    return failures;
  }

  /** Plays one pipeline again; returns what failed. */
  replay(seed: number): Promise<string | undefined> {
    const { plan, chance } = planOf(seed);
    return this.#playOne(plan, chance);
  }

  /** The tags of the scopes that are still open a while after all clients have left. */
  async close(): Promise<readonly string[]> {
    await this.#scopes.allDisposed().catch(() => undefined);
    const { open } = this.#scopes;
    for (const running of this.#running.values()) await running.close();
    for (const unfollow of this.#unfollow) unfollow();
    this.#upgrades.close();
    return open;
  }

  async #playOne(plan: Plan, chance: Chance): Promise<string | undefined> {
    const client = await RawClient.connect(this.#running.get(plan.limit)!.port);
    try {
      const writing = write(client, plan, chance);
      const breaksOffAt = breaksOff(plan.ending) ? chance.below(plan.requests.length + 1) : Infinity;
      for (const [index, { expected }] of plan.requests.entries()) {
        if (index === breaksOffAt) return undefined;
        if (chance.of(0.03)) await stopReading(client, chance.below(40));
        const closes = index >= plan.limit;
        if (!(await expectResponse(client, expected, closes))) return closedBehind(client);
        this.checked += 1;
      }
      await writing;
      await expectEnding(client, plan.ending);
      return undefined;
    } catch (error) {
      return `${(error as Error).message} (${plan.requests.length} requests, then ${plan.ending}; limit ${plan.limit})`;
    } finally {
      if (plan.ending === 'reset') client.reset();
      else client.leave();
    }
  }

  async #handle({ body }: Call): Promise<Reply> {
    const deed = (body ?? this.#deeds.getStore()) as Deed;
    await pause(deed.wait);
    const text = textOf(deed);
    if (deed.kind === 'throw') throw new Error('The handler failed');
    if (deed.kind === 'json') return { kind: 'json', body: { id: deed.id, text } };
    if (deed.kind === 'status') return { kind: 'status', status: 204 };
    if (deed.kind !== 'stream') return { kind: deed.kind, text };
    return { kind: 'stream', stream: Readable.from(parts(text, deed.wait)) };
  }
}

/** Echoes what upgraded connections send. */
class Upgrades {
  constructor() {
    subscribe('http.server.request.start', this.#started);
  }

  close(): void {
    unsubscribe('http.server.request.start', this.#started);
  }

  readonly #started = (message: unknown): void => {
    const { server } = message as { server: Server };
    if (server.listenerCount('upgrade') === 0) server.on('upgrade', this.#upgrade);
  };

  readonly #upgrade = (_req: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => undefined);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n');
    socket.unshift(head);
    socket.pipe(socket);
  };
}

const ECHOED = Array.from({ length: 3000 }, (_, line) => `line ${line}\n`).join('');

function deedOf({ headers }: IncomingMessage): Deed {
  return JSON.parse(String(headers['x-deed'] ?? 'null')) as Deed;
}

function textOf({ id, bytes }: Deed): string {
  return `${id}:${String.fromCharCode(97 + (id % 26)).repeat(bytes)}`;
}

async function* parts(text: string, wait: number): AsyncGenerator<string> {
  const size = Math.ceil(text.length / 4);
  for (let at = 0; at < text.length; at += size) {
    yield text.slice(at, at + size);
    await pause(wait);
  }
}

async function pause(ms: number): Promise<void> {
  if (ms > 1) await sleep(ms);
  else if (ms === 1) await new Promise(setImmediate);
}

/** The same plan for the same seed, and the chance that goes on with it. */
function planOf(seed: number): { plan: Plan; chance: Chance } {
  const chance = new Chance(seed);
  const limit = chance.pick(LIMITS);
  const ending = chance.pick(ENDINGS);
  const isLong = chance.of(0.1);
  const length = isLong ? 200 + chance.below(600) : 1 + chance.below(chance.of(0.3) ? 150 : 25);
  const requests = Array.from({ length }, (_, id) => {
    const closes = ending === 'close' && id === length - 1;
    return requestOf(chance, id, closes);
  });
  return { plan: { limit, ending, requests }, chance };
}

/**
 * No host ends these responses with a `Buffer`, as Express ends those of `send()` and `json()`. In such an `end()` Node, from 20 to 26,
 * puts the head before all that waits on the response for its turn, its own 100 included.
 */
const STRINGS: readonly string[] = ['end', 'stream', 'status'];

function requestOf(chance: Chance, id: number, closes: boolean): Planned {
  const kind = chance.pick(['json', 'json', 'text', 'text', 'end', 'stream', 'status', 'throw'] as const);
  const bytes = bytesOf(chance);
  const wait = chance.of(0.02) ? 2 + chance.below(60) : chance.pick([0, 0, 0, 1]);
  const deed: Deed = { id, kind, bytes, wait };
  const isLost = chance.of(0.03);
  const path = isLost ? '/nowhere' : '/work';
  const method = chance.pick(['GET', 'GET', 'HEAD', 'POST', 'POST']);
  // Node closes the connection after a response to a body that nobody reads.
  const isRead = method === 'POST' && !isLost;
  const isContinued = isRead && (id === 0 || STRINGS.includes(kind)) && chance.of(0.2);
  const headers = { ...(closes && { connection: 'close' }), ...(isContinued && { expect: '100-continue' }) };
  const expected = { ...expectedOf(deed, isLost), toHead: method === 'HEAD', isContinued };
  if (method !== 'POST') {
    return { text: requestText({ method, path, headers: { ...headers, 'x-deed': JSON.stringify(deed) } }), expected };
  }
  const body = JSON.stringify({ ...deed, pad: 'x'.repeat(chance.below(800)) });
  if (chance.of(0.6)) return { text: requestText({ method, path, body, headers }), expected };
  const chunked = { ...headers, 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
  return { text: requestText({ method, path, headers: chunked }) + chunksOf(body, chance), expected };
}

function bytesOf(chance: Chance): number {
  const luck = chance.next();
  if (luck < 0.02) return 100_000 + chance.below(200_000);
  if (luck < 0.08) return 20_000 + chance.below(60_000);
  return chance.below(luck < 0.3 ? 4000 : 200);
}

function expectedOf(deed: Deed, isLost: boolean): Pick<Expected, 'isChunked' | 'status' | 'text'> {
  const text = textOf(deed);
  if (isLost) return { status: 404, text: undefined, isChunked: false };
  if (deed.kind === 'throw') return { status: 500, text: undefined, isChunked: false };
  if (deed.kind === 'status') return { status: 204, text: '', isChunked: false };
  if (deed.kind === 'json') return { status: 200, text: JSON.stringify({ id: deed.id, text }), isChunked: false };
  return { status: 200, text, isChunked: deed.kind === 'stream' };
}

function chunksOf(body: string, chance: Chance): string {
  let text = '';
  for (let at = 0; at < body.length;) {
    const size = 1 + chance.below(300);
    const part = body.slice(at, at + size);
    text += `${part.length.toString(16)}${chance.of(0.1) ? ';note=1' : ''}\r\n${part}\r\n`;
    at += size;
  }
  return `${text}0\r\n${chance.of(0.1) ? 'trailing: yes\r\n' : ''}\r\n`;
}

const BEHIND: Partial<Record<Ending, string>> = {
  garbage: 'HELLO\r\n\r\n',
  connect: 'CONNECT test:443 HTTP/1.1\r\nhost: test\r\n\r\n',
  upgrade: `${requestText({ path: '/work', headers: { connection: 'upgrade', upgrade: 'echo' } })}${ECHOED}`,
  half: 'POST /work HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"a',
};

/** In pieces that end anywhere, with pauses in between. */
async function write(client: RawClient, { requests, ending }: Plan, chance: Chance): Promise<void> {
  const behind = ending === 'upgrade' ? '' : (BEHIND[ending] ?? '');
  const text = requests.map((request) => request.text).join('') + behind;
  // What this client does must not depend on when its responses come: these chances are drawn in advance.
  const own = new Chance(chance.below(2 ** 31));
  const most = own.pick([300, 5000, 200_000]);
  for (let at = 0; at < text.length;) {
    const size = 1 + own.below(most);
    client.write(text.slice(at, at + size));
    at += size;
    await pause(own.of(0.1) ? own.below(5) : own.pick([0, 1]));
  }
}

function breaksOff(ending: Ending): boolean {
  return ending === 'leave' || ending === 'reset';
}

async function stopReading(client: RawClient, ms: number): Promise<void> {
  client.stopReading();
  await sleep(ms);
  client.readOn();
}

/** Returns false where the connection has closed instead, behind as many requests as its limit. */
async function expectResponse(client: RawClient, expected: Expected, mayClose: boolean): Promise<boolean> {
  const next = (): Promise<RawResponse | undefined> =>
    client.nextResponse({ toHead: expected.toHead, timeoutMs: RESPONSE_MS });
  let response = await next();
  // A client gets no 100 if its body is not read, or there already.
  if (response?.status === 100 && expected.isContinued) response = await next();
  if (!response && mayClose) return false;
  const wrong = response ? differs(response, expected) : 'the connection closed';
  if (wrong) throw new Error(`${brief(expected)} was expected, and ${brief(response)} came: ${wrong}`);
  return true;
}

function closedBehind({ unread }: RawClient): string | undefined {
  return unread === '' ? undefined : `"${unread.slice(0, 40)}" came behind the last response`;
}

function differs({ status, headers, text }: RawResponse, expected: Expected): string | undefined {
  if (status !== expected.status) return 'another status';
  const { 'transfer-encoding': encoding, 'content-length': length } = headers;
  if (encoding && length) return 'two kinds of framing';
  if (!expected.toHead && expected.isChunked !== (encoding === 'chunked')) return 'another framing';
  if (!expected.toHead && expected.text !== undefined && expected.text !== text) return 'another body';
  return undefined;
}

function brief(response: Pick<Expected, 'status' | 'text'> | undefined): string {
  return response ? `${response.status} "${response.text?.slice(0, 40)}"` : 'nothing';
}

async function expectEnding(client: RawClient, ending: Ending): Promise<void> {
  if (ending === 'upgrade') {
    // If responses are on their way, Node itself may no longer read from the socket that it hands over.
    client.write(BEHIND.upgrade ?? '');
    const { status } = (await client.nextResponse({ timeoutMs: RESPONSE_MS })) ?? {};
    if (status !== 101) throw new Error(`101 was expected, and ${status} came`);
    await client.hears('line 2999\n');
    if (client.unread !== ECHOED) throw new Error('the echo differs from what was sent');
  }
  if (ending === 'garbage') {
    // Where everything had been responded to before.
    const response = await client.nextResponse({ timeoutMs: RESPONSE_MS });
    if (response && response.status !== 400) throw new Error(`${response.status} came in response to garbage`);
  }
  if (ending === 'close' || ending === 'connect' || ending === 'garbage') {
    await client.closed();
    if (client.unread !== '') throw new Error(`"${client.unread.slice(0, 40)}" came behind the last response`);
  }
}
