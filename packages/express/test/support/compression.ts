import { createGzip } from 'node:zlib';
import { compress } from '@ambit/host-contract';
import type { RequestHandler } from 'express';

/** Compresses as the package `compression` does. */
export function compression({ applies = true } = {}): RequestHandler {
  return (_req, res, next) => {
    compress(res, { applies, encoding: 'gzip', compressor: createGzip });
    next();
  };
}
