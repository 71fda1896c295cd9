import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type RawResponse, readResponse } from './response.js';
import { Happenings } from './waiting.js';

/** @internal */
export interface RequestText {
  readonly method?: string;
  readonly path: string;
  /** Sent as it is when it is text, as JSON otherwise. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** @internal The request as it goes over the wire. */
export function requestText({ method = 'GET', path, body, headers = {} }: RequestText): string {
  const content = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  const framing =
    body === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(content)) };
  const lines = Object.entries({ host: 'test', ...framing, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${content}`;
}

/** @internal A client that can do what well-behaved ones do not: pipeline, stop in the middle of a body, vanish. */
export class RawClient {
  readonly #socket: Socket;
  readonly #happenings = new Happenings();
  readonly #toHead: boolean[] = [];
  /** Twice as large when it is full: to copy all that came for each chunk would take longer than the network does. */
  #buffer = Buffer.allocUnsafe(4096);
  #from = 0;
  #to = 0;
  #received = 0;
  #ended = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      this.#received += chunk.length;
      this.#keep(chunk);
      this.#happenings.tell();
    });
    const end = (): void => {
      this.#ended = true;
      this.#happenings.tell();
    };
    socket.on('error', end);
    socket.on('end', end);
    socket.on('close', end);
  }

  static async connect(port: number): Promise<RawClient> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new RawClient(socket);
  }

  /** The number of bytes that came so far. */
  get received(): number {
    return this.#received;
  }

  /** The bytes that were received and not read as a response. */
  get unread(): string {
    return this.#bytes.toString();
  }

  /** Resolves when the operating system has taken everything that was sent. */
  async sent(): Promise<void> {
    if (this.#socket.writableLength > 0) await once(this.#socket, 'drain');
  }

  /** Sends whatever it is given. */
  write(bytes: string | Buffer): void {
    this.#socket.write(bytes);
  }

  /** Sends the requests in one piece, without waiting for the responses in between. */
  send(...requests: RequestText[]): void {
    this.#toHead.push(...requests.map(({ method }) => method === 'HEAD'));
    this.write(requests.map(requestText).join(''));
  }

  /** The next response; rejects when it does not come in time, or the connection closes. */
  async response(timeoutMs?: number): Promise<RawResponse> {
    const response = await this.nextResponse({ toHead: this.#toHead.shift() ?? false, timeoutMs });
    if (!response) throw new Error(`The connection closed after "${this.#bytes.toString()}"`);
    return response;
  }

  /** The next response, or undefined when the connection closes before it came whole. */
  async nextResponse({ toHead = false, timeoutMs }: { toHead?: boolean; timeoutMs?: number | undefined } = {}): Promise<
    RawResponse | undefined
  > {
    let read: ReturnType<typeof readResponse>;
    let failure: Error | undefined;
    const whole = (): boolean => {
      try {
        read = readResponse(this.#bytes, { toHead, noMoreWillCome: this.#ended });
      } catch (error) {
        failure = error as Error;
      }
      return read !== undefined || failure !== undefined || this.#ended;
    };
    await this.#happenings.until(whole, 'the response came whole', timeoutMs);
    if (failure !== undefined) throw failure;
    this.#from += read?.length ?? 0;
    return read?.response;
  }

  async request(request: RequestText): Promise<RawResponse> {
    this.send(request);
    return this.response();
  }

  /** Resolves once something of the response came that contains `text`. */
  hears(text: string): Promise<void> {
    return this.#happenings.until(() => this.#bytes.includes(text), `the client hears "${text}"`);
  }

  /** Resolves when the server has closed the connection. */
  closed(): Promise<void> {
    return this.#happenings.until(() => this.#ended, 'the server closed the connection');
  }

  /** The bytes that the server sends from now on have to wait. */
  stopReading(): void {
    this.#socket.pause();
  }

  readOn(): void {
    this.#socket.resume();
  }

  /** Goes away politely, as a closed browser tab does. */
  leave(): void {
    this.#socket.destroy();
  }

  /** Goes away as a crashed client does. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  get #bytes(): Buffer {
    return this.#buffer.subarray(this.#from, this.#to);
  }

  #keep(chunk: Buffer): void {
    if (this.#to + chunk.length > this.#buffer.length) {
      const unread = this.#bytes;
      this.#buffer = Buffer.allocUnsafe(2 * (unread.length + chunk.length));
      unread.copy(this.#buffer);
      [this.#from, this.#to] = [0, unread.length];
    }
    chunk.copy(this.#buffer, this.#to);
    this.#to += chunk.length;
  }
}
