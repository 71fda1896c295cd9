import { createGzip, type Gzip } from 'node:zlib';
import type { RequestHandler, Response } from 'express';

type Method = (...args: unknown[]) => unknown;
type Replaced = Record<'end' | 'on' | 'write' | 'writeHead', Method>;

/**
 * What the package `compression` 1.8 does to a response: the head is written with the first byte, what is compressed comes
 * later than it was written, and listeners for `drain` go to the compressor, once there is one. It forgets none.
 */
export function compression({ applies = true } = {}): RequestHandler {
  return (_req, res, next) => {
    compress(res, applies);
    next();
  };
}

function compress(res: Response, applies: boolean): void {
  const replaced = res as unknown as Replaced;
  const { end, on, write, writeHead } = replaced;
  let gzip: Gzip | undefined;
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
    return gzip ? gzip.write(args[0]) : write.apply(res, args);
  };
  replaced.end = (...args) => {
    if (ended) return false;
    if (!res.headersSent) res.writeHead(res.statusCode);
    if (!gzip) return end.apply(res, args);
    ended = true;
    return gzip.end(args[0] as Buffer | string | undefined);
  };
  replaced.on = (...args) => {
    if (!waiting || args[0] !== 'drain') return on.apply(res, args);
    if (gzip) return (gzip.on as Method)(...args);
    waiting.push(args);
    return res;
  };

  function begin(): void {
    if (applies) {
      gzip = createGzip();
      res.setHeader('Content-Encoding', 'gzip');
      res.removeHeader('Content-Length');
      gzip.on('data', (chunk) => void (write.call(res, chunk) === false && gzip?.pause()));
      gzip.on('end', () => void end.call(res));
      on.call(res, 'drain', () => void gzip?.resume());
    }
    for (const args of waiting ?? []) Reflect.apply(gzip ? gzip.on : on, gzip ?? res, args);
    if (!applies) waiting = undefined;
  }
}
