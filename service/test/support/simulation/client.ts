import {
  type Chance,
  type RawResponse,
  readResponse,
  type SimulatedNetwork,
  SimulatedSocket,
} from '@ambit/host-contract';
import type { Instance } from './instance.js';
import { Attempt, Intent, type OrderItem } from './intent.js';
import type { Run } from './run.js';

/** No request of the service takes so long, and no three behind each other. */
const LONGEST_MS = 120_000;
const LOOK_MS = 50;

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: shop\r\n\r\n`;

/** One after the other it sends what it wants, one request or several at a time, on one connection or on several. */
export class Client {
  readonly #run: Run;
  readonly #name: string;
  readonly #chance: Chance;
  #connections = 0;

  constructor(run: Run, name: string, chance: Chance) {
    this.#run = run;
    this.#name = name;
    this.#chance = chance;
  }

  async come(): Promise<void> {
    const { clock, parts } = this.#run;
    await clock.sleep(this.#chance.below(300));
    let connection: Connection | undefined;
    for (let times = 1 + this.#chance.below(3), time = 1; time <= times; time += 1) {
      const requests = Array.from({ length: this.#chance.pick([1, 1, 1, 2, 3]) }, () => this.#choose());
      const chance = this.#chance.fork();
      if (!parts.has(`${this.#name}.${time}`)) continue;
      if (!connection?.isOpen || chance.of(0.3)) {
        connection?.leave('politely');
        connection = this.#connect(chance);
      }
      const wanted = requests.filter((_, at) => parts.has(`${this.#name}.${time}.${at + 1}`));
      const attempts = wanted.map((request) => request());
      if (attempts.length > 0) await connection?.ask(attempts, `${this.#name}.${time}`);
      if (chance.of(0.3)) await clock.sleep(chance.below(1000));
    }
    connection?.leave('politely');
  }

  #connect(chance: Chance): Connection | undefined {
    const { instances, stoppingSince, clock } = this.#run;
    // One that stops takes no more connections.
    const open = clock.now() < stoppingSince ? instances : instances.slice(1);
    if (open.length === 0) return undefined;
    this.#connections += 1;
    return new Connection(this.#run, chance.pick(open), `${this.#name}.${this.#connections}`, chance);
  }

  /** What it will ask for; which of the earlier requests it repeats is decided when it does. */
  #choose(): () => Attempt {
    const run = this.#run;
    const chance = this.#chance.fork();
    const kind = chance.pick(['order', 'order', 'order', 'again', 'again', 'user', 'read', 'read']);
    if (kind === 'read') return () => this.#read(chance);
    const key = chance.of(0.5) ? `${this.#name}-${chance.below(3)}` : undefined;
    const intend = (): Attempt => {
      const mark = `${kind === 'user' ? 'user' : 'order'}${run.intents.length + 1}`;
      const wanted =
        kind === 'user' ? { name: mark, email: `${mark}@shop.example` } : { items: this.#items(mark, chance) };
      const intent = new Intent(run, mark, key, wanted);
      run.intents.push(intent);
      return intent.attempt();
    };
    if (kind !== 'again') return intend;
    return () => {
      const keyed = run.intents.filter((intent) => intent.key !== undefined);
      return keyed.length > 0 ? chance.pick(keyed).attempt() : intend();
    };
  }

  #items(mark: string, chance: Chance): OrderItem[] {
    const items = [{ productId: mark, quantity: 1 }];
    for (let more = chance.below(3); more > 0; more -= 1)
      items.push({ productId: chance.pick(Object.keys(this.#run.stock)), quantity: 1 + chance.below(5) });
    return items;
  }

  #read(chance: Chance): Attempt {
    const run = this.#run;
    const user = chance.pick(run.database.committed('users').map(({ id }) => String(id)));
    const path = chance.pick([
      '/api/users',
      `/api/users/${user}`,
      '/health/ready',
      '/health/live',
      '/nowhere',
      '/api/users?limit=x',
    ]);
    return new Attempt(run, path, get(path));
  }
}

/** One connection to an instance, and what its client waits for on it. */
class Connection {
  readonly #run: Run;
  readonly #name: string;
  readonly #chance: Chance;
  readonly #instance: Instance;
  readonly #network: SimulatedNetwork;
  readonly #socket: SimulatedSocket;
  readonly #waiting: Attempt[] = [];
  #heard = Buffer.alloc(0);
  #isLast = false;
  #wake = (): void => undefined;

  constructor(run: Run, instance: Instance, name: string, chance: Chance) {
    this.#run = run;
    this.#instance = instance;
    this.#name = name;
    this.#chance = chance;
    this.#network = run.network(name, chance);
    this.#socket = new SimulatedSocket(this.#network, (bytes) => this.#hear(bytes));
    this.#socket.on('close', () => this.#wake());
    run.atEnd(() => this.#socket.destroy());
    this.#socket.connect(instance.server, true);
  }

  get isOpen(): boolean {
    const { destroyed, hasLeft, isStuck } = this.#socket;
    return !destroyed && !hasLeft && !isStuck && !this.#isLast;
  }

  /** Sends the requests, in one piece or in several, and waits for what it can expect. */
  async ask(attempts: readonly Attempt[], name: string): Promise<void> {
    const { clock } = this.#run;
    this.#waiting.push(...attempts);
    let text = attempts.map((attempt) => attempt.text).join('');
    const [first] = attempts;
    const last = attempts.at(-1);
    if (first) first.isAlone = attempts.length === 1;
    const isHalf = last !== undefined && this.#run.strikes(`${name}.half`, 0.07, this.#chance);
    if (isHalf) {
      last.isWhole = false;
      text = text.slice(0, -1 - this.#chance.below(20));
    }
    this.#send(text, attempts);
    if (this.#run.strikes(`${name}.leaves`, 0.1, this.#chance)) this.#leaveSoon();
    const deadline = clock.now() + LONGEST_MS;
    // A request that is pipelined waits for turns of the event loop, in which the clock must not go on by much.
    let stopTimer = clock.setTimer(look, LOOK_MS);
    const wake = (): void => this.#wake();
    function look(): void {
      stopTimer = clock.setTimer(look, LOOK_MS);
      wake();
    }
    while (this.isOpen && this.#waiting.length > (isHalf ? 1 : 0) && clock.now() < deadline)
      await new Promise<void>((resolve) => (this.#wake = resolve));
    stopTimer();
    this.#checkWaiting();
    if (isHalf) await clock.sleep(this.#chance.below(3000));
    if (this.#waiting.length > 0) this.leave('rudely');
  }

  leave(manner: 'politely' | 'rudely'): void {
    if (this.#socket.hasLeft || this.#socket.destroyed) return;
    this.#network.note('client', `leaves ${manner}`);
    this.#socket.hasLeft = true;
    if (manner === 'politely') this.#socket.noMoreArrives();
    else this.#socket.destroy(new Error('ECONNRESET'));
    this.#wake();
  }

  #leaveSoon(): void {
    const manner = this.#chance.pick(['politely', 'rudely'] as const);
    this.#run.clock.setTimer(() => this.leave(manner), this.#chance.below(400));
  }

  #send(text: string, attempts: readonly Attempt[]): void {
    const asked = attempts.map(({ what, isWhole }) => (isWhole ? what : `half of ${what}`));
    this.#network.note('client', `sends ${asked.join(' and ')}`);
    let at = 0;
    for (let ms = 0; at < text.length; ms += 1 + this.#chance.below(200)) {
      const end = this.#chance.of(0.7) ? text.length : at + 1 + this.#chance.below(text.length - at);
      const piece = text.slice(at, end);
      const arrive = (): void => this.#arrive(piece, attempts, end);
      if (ms === 0) arrive();
      else this.#run.clock.setTimer(arrive, ms);
      at = end;
    }
  }

  #arrive(piece: string, attempts: readonly Attempt[], end: number): void {
    let length = 0;
    for (const attempt of attempts) {
      length += attempt.text.length;
      if (length <= end) attempt.arrivedAt = Math.min(attempt.arrivedAt, this.#run.clock.now());
    }
    this.#socket.arrive(piece);
  }

  #hear(bytes: Buffer): void {
    this.#heard = Buffer.concat([this.#heard, bytes]);
    try {
      for (let read = readResponse(this.#heard); read; read = readResponse(this.#heard)) {
        this.#heard = this.#heard.subarray(read.length);
        this.#receive(read.response);
      }
    } catch (error) {
      this.#run.broke(`${this.#name} heard what is no response: ${String(error)}`);
    }
    this.#wake();
  }

  #receive(response: RawResponse): void {
    const attempt = this.#waiting.shift();
    this.#network.note('client', `hears ${response.status} ${response.text}`);
    if (response.headers['connection'] === 'close') this.#isLast = true;
    if (attempt) attempt.hear(response);
    else this.#run.broke(`${this.#name} heard more responses than it has sent requests`);
  }

  /** Who sent all of a request, and is still there, gets a response. */
  #checkWaiting(): void {
    const [first] = this.#waiting;
    const { hasLeft, isStuck, destroyed } = this.#socket;
    if (!first?.isWhole || hasLeft || isStuck || this.#isLast) return;
    const { instances, stoppingSince, struck } = this.#run;
    const isStopping = this.#instance === instances[0] && stoppingSince < Infinity;
    // An instance that stops finishes what it has, but not for longer than its time limit.
    if (isStopping && (first.arrivedAt >= stoppingSince || struck > 0)) return;
    this.#run.broke(`${first.what} gets no response, and its connection is ${destroyed ? 'closed' : 'open'}`);
  }
}
