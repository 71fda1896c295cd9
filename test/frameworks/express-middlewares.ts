import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import compression from 'compression';
import type { RequestHandler, Response } from 'express';
import session from 'express-session';
import morgan from 'morgan';
import multer from 'multer';
import onFinished from 'on-finished';
import responseTime from 'response-time';
import serveStatic from 'serve-static';
import { afterAll } from 'vitest';
import type { Log, Middleware } from './contract.js';
import {
  ACCEPTS_GZIP,
  BLOCKS_OF_ROWS,
  FILE_REQUESTS,
  makeFiles,
  MANY_ROWS,
  ROW,
  rowsInTime,
  UPLOAD,
} from './fixtures.js';

/** What the routes of an application respond. */
export const handlers: Record<string, (res: Response) => unknown> = {
  '/json': (res) => res.status(201).json({ rows: [ROW] }),
  '/head': (res) => res.writeHead(201, { 'content-type': 'text/plain', 'content-length': ROW.length }).end(ROW),
  '/empty': (res) => res.status(204).end(),
  '/not-modified': (res) => res.status(304).end(),
  '/large': (res) => res.type('text').send(MANY_ROWS),
  '/pipeline': (res) => pipeline(Readable.from(BLOCKS_OF_ROWS), res.type('text')),
  '/writes': async (res) => {
    res.type('text');
    for await (const row of rowsInTime()) res.write(row);
    res.end();
  },
};

class SlowStore extends session.MemoryStore {
  override set(id: string, data: session.SessionData, done?: (error?: unknown) => void): void {
    setTimeout(() => super.set(id, data, done), 10);
  }
}

const files = makeFiles();
afterAll(() => files.remove());

const stores = (): RequestHandler =>
  session({ secret: 'secret', genid: () => 'an-id', resave: true, saveUninitialized: true, store: new SlowStore() });
const logs = (log: Log): RequestHandler => morgan(':status', { stream: { write: log } });
const whenFinished =
  (log: Log): RequestHandler =>
  (_req, res, next) => {
    onFinished(res, () => log(`${res.statusCode}`));
    next();
  };

/** The middlewares of Express that most applications have. */
export const middlewares: readonly Middleware<RequestHandler[]>[] = [
  { name: 'compression', use: () => [compression({ threshold: 0 })], request: ACCEPTS_GZIP },
  { name: 'compression of what is long', use: () => [compression()], request: ACCEPTS_GZIP },
  { name: 'compression that nobody accepts', use: () => [compression({ threshold: 0 })] },
  { name: 'express-session', use: () => [stores()] },
  { name: 'on-finished', use: (log) => [whenFinished(log)], logs: true },
  { name: 'response-time', use: () => [responseTime()], varies: 'x-response-time' },
  { name: 'morgan', use: (log) => [logs(log)], logs: true },
  { name: 'multer', use: () => [multer().single('file')], request: UPLOAD },
  { name: 'serve-static without the file', use: () => [serveStatic(files.folder)] },
  { name: 'serve-static', use: () => [serveStatic(files.folder)], places: ['behind'], requests: FILE_REQUESTS },
  {
    name: 'four of them',
    use: (log) => [logs(log), stores(), responseTime(), compression({ threshold: 0 })],
    logs: true,
    request: ACCEPTS_GZIP,
    varies: 'x-response-time',
  },
];
