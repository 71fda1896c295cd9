/** @internal A response as it came over the wire. */
export interface RawResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The body as bytes, since a compressed one is no text. */
  readonly body: Buffer;
  /** All of it, framing included. */
  readonly bytes: Buffer;
}

/**
 * The first whole response in `bytes` and how many of them it took, or nothing when more must come. Throws what a client would be
 * confused by: two lengths, a chunk that does not stop where it says.
 * @internal
 */
export function readResponse(
  bytes: Buffer,
  { toHead = false, noMoreWillCome = false } = {},
): { response: RawResponse; length: number } | undefined {
  const headLength = bytes.indexOf('\r\n\r\n');
  if (headLength === -1) return undefined;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headLength).split('\r\n');
  const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) throw malformed(`it begins with "${statusLine}"`);
  const framing = lines.map((line) => readHeader(line)[0]).filter((name) => FRAMING.has(name));
  if (framing.length > 1) throw malformed(`its head has ${framing.join(' and ')}`);
  const headers = Object.fromEntries(lines.map(readHeader));
  const start = headLength + 4;
  const body = readBody(bytes.subarray(start), { status, headers, toHead, noMoreWillCome });
  if (!body) return undefined;
  const { content } = body;
  const length = start + body.length;
  return {
    response: { status, headers, text: content.toString(), body: content, bytes: bytes.subarray(0, length) },
    length,
  };
}

const FRAMING: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);

function malformed(what: string): Error {
  return new Error(`The response is malformed: ${what}`);
}

function readHeader(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

interface Framing {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly toHead: boolean;
  readonly noMoreWillCome: boolean;
}

interface Body {
  readonly content: Buffer;
  /** On the wire, framing included. */
  readonly length: number;
}

function readBody(bytes: Buffer, { status, headers, toHead, noMoreWillCome }: Framing): Body | undefined {
  if (toHead || status < 200 || status === 204 || status === 304) return { content: Buffer.alloc(0), length: 0 };
  if (headers['transfer-encoding'] === 'chunked') return readChunks(bytes);
  const length = Number(headers['content-length'] ?? (noMoreWillCome ? bytes.length : Infinity));
  return bytes.length < length ? undefined : { content: bytes.subarray(0, length), length };
}

function readChunks(bytes: Buffer): Body | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const line = bytes.toString('latin1', at, lineEnd);
    if (!/^[\da-f]+$/i.test(line)) throw malformed(`the size of a chunk is "${line}"`);
    const size = Number.parseInt(line, 16);
    const next = lineEnd + 2 + size + 2;
    if (bytes.length < next) return undefined;
    const behind = bytes.toString('latin1', next - 2, next);
    if (behind !== '\r\n') throw malformed(`behind a chunk of ${size} bytes comes "${behind}"`);
    if (size === 0) return { content: Buffer.concat(chunks), length: next };
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = next;
  }
}
