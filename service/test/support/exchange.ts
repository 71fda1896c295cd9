import { connect, type Socket } from 'node:net';
import { Happenings } from '@ambit/host-contract';

/** A response as it was received, and whether the connection could be used afterwards. */
export interface Heard {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The 1xx responses before it. */
  readonly interim: readonly number[];
  /** The status of another request on the same connection, or `closed`. */
  readonly next: number | 'closed';
}

type HttpMessage = Omit<Heard, 'interim' | 'next'>;

const PROBE = 'GET /health/live HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n';

/** Sends the bytes as they are, then one more request where the connection is still open. */
export async function exchange(url: string, request: string | Buffer): Promise<Heard> {
  const line = new Line(url);
  try {
    line.send(request);
    const toHead = request.toString('latin1', 0, 5).startsWith('HEAD ');
    const interim: number[] = [];
    let response = await line.response(toHead);
    for (; response !== undefined && response.status < 200; response = await line.response(toHead))
      interim.push(response.status);
    if (!response) throw new Error('The connection was closed without a response');
    if (response.headers['connection'] !== 'close') line.send(PROBE);
    const next = await line.response(false);
    return { ...response, interim, next: next?.status ?? 'closed' };
  } finally {
    line.leave();
  }
}

class Line {
  readonly #socket: Socket;
  readonly #happenings = new Happenings();
  #bytes: Buffer = Buffer.alloc(0);
  #ended = false;

  constructor(url: string) {
    this.#socket = connect(Number(new URL(url).port), '127.0.0.1');
    this.#socket.on('data', (chunk) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      this.#happenings.tell();
    });
    for (const event of ['error', 'end', 'close'])
      this.#socket.on(event, () => {
        this.#ended = true;
        this.#happenings.tell();
      });
  }

  send(bytes: string | Buffer): void {
    this.#socket.write(bytes);
  }

  leave(): void {
    this.#socket.destroy();
  }

  /** The next response, or undefined when the connection was closed before. */
  async response(toHead: boolean): Promise<HttpMessage | undefined> {
    await this.#happenings.until(() => this.#ended || this.#take(toHead) !== undefined, 'there is a response');
    const taken = this.#take(toHead);
    this.#bytes = this.#bytes.subarray(taken?.length ?? 0);
    return taken?.response;
  }

  #take(toHead: boolean): { response: HttpMessage; length: number } | undefined {
    const end = this.#bytes.indexOf('\r\n\r\n');
    if (end === -1) return undefined;
    const [statusLine = '', ...lines] = this.#bytes.toString('latin1', 0, end).split('\r\n');
    const status = Number(statusLine.split(' ')[1]);
    const headers = Object.fromEntries(lines.map(readHeader));
    const expected = toHead || status < 200 ? 0 : Number(headers['content-length'] ?? 0);
    const body = this.#bytes.subarray(end + 4, end + 4 + expected);
    if (body.length < expected) return undefined;
    return { response: { status, headers, text: body.toString() }, length: end + 4 + expected };
  }
}

function readHeader(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
