import type { ServerResponse } from 'node:http';
import { PassThrough, type Transform } from 'node:stream';

type Method = (...args: unknown[]) => unknown;
type Methods = Record<'end' | 'flush' | 'on' | 'write' | 'writeHead', Method>;

/** @internal The wrapper of a middleware around a response. */
export type Wrap = (res: ServerResponse) => void;

interface Compression {
  /** Default true; `false` for a response that is not worth it. */
  readonly applies?: boolean;
  readonly encoding?: string;
  readonly compressor?: () => Transform;
}

/**
 * Changes a response as the package `compression` 1.8 does: the head is written with the first byte, what is compressed comes
 * later than it was written, and listeners for `drain` go to the compressor, once there is one. It forgets none.
 * @internal
 */
export function compress(res: ServerResponse, options: Compression = {}): void {
  const { applies = true, encoding = 'identity', compressor = () => new PassThrough() } = options;
  const replaced = res as unknown as Methods;
  const { end, on, write, writeHead } = replaced;
  let stream: Transform | undefined;
  let ended = false;
  let headIsWritten = false;
  let waiting: unknown[][] | undefined = [];
  replaced.writeHead = (status, ...rest) => {
    res.statusCode = status as number;
    if (!headIsWritten) begin();
    headIsWritten = true;
    return writeHead.call(res, status, ...rest);
  };
  replaced.write = (...args) => {
    if (ended) return false;
    if (!res.headersSent) res.writeHead(res.statusCode);
    return stream ? stream.write(args[0]) : write.apply(res, args);
  };
  replaced.end = (...args) => {
    if (ended) return false;
    if (!res.headersSent) res.writeHead(res.statusCode);
    if (!stream) return end.apply(res, args);
    ended = true;
    return stream.end(args[0] as Buffer | string | undefined);
  };
  replaced.flush = () => void (stream as { flush?: Method } | undefined)?.flush?.();
  replaced.on = (...args) => {
    if (!waiting || args[0] !== 'drain') return on.apply(res, args);
    if (stream) return (stream.on as Method)(...args);
    waiting.push(args);
    return res;
  };

  function begin(): void {
    if (applies) {
      stream = compressor();
      res.setHeader('Content-Encoding', encoding);
      res.removeHeader('Content-Length');
      stream.on('data', (chunk) => void (write.call(res, chunk) === false && stream?.pause()));
      stream.on('end', () => void end.call(res));
      on.call(res, 'drain', () => void stream?.resume());
    }
    for (const args of waiting ?? []) {
      if (stream) (stream.on as Method)(...args);
      else on.apply(res, args);
    }
    if (!applies) waiting = undefined;
  }
}

/** @internal Changes a response as `express-session` 1.18 does: all but the last byte is written, and that waits until the session is stored. */
export function saveFirst(res: ServerResponse, save: () => Promise<unknown>): void {
  const replaced = res as unknown as Methods;
  const { end, write } = replaced;
  let ended = false;
  replaced.end = (chunk = '') => {
    if (ended) return false;
    ended = true;
    const bytes = Buffer.from(chunk as string);
    void save().then(() => end.call(res, ...(bytes.length > 0 ? [bytes.subarray(-1)] : [])));
    return bytes.length === 0 || write.call(res, bytes.subarray(0, -1));
  };
}

/** @internal Adds a header with the head, as the package `on-headers` does for `response-time`, `cookie-session` and others. */
export function addWithHead(res: ServerResponse, name: string, value: string): void {
  const replaced = res as unknown as Methods;
  const { writeHead } = replaced;
  let isAdded = false;
  replaced.writeHead = (...args) => {
    if (!isAdded) res.setHeader(name, value);
    isAdded = true;
    return writeHead.apply(res, args);
  };
}
