// A server for the files of the built site, which compresses what a host of static sites compresses.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

export const folder = join(import.meta.dirname, 'dist');

/** @type {Readonly<Record<string, string>>} */
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

export function siteServer() {
  return createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site');
    const file = pathname.endsWith('/') ? `${pathname}index.html` : decodeURIComponent(pathname);
    const type = TYPES[extname(file)] ?? 'application/octet-stream';
    try {
      const body = readFileSync(join(folder, file));
      response.setHeader('content-type', type);
      if (!/^(text|image\/svg)/.test(type)) response.end(body);
      else response.setHeader('content-encoding', 'gzip').end(gzipSync(body));
    } catch {
      response.writeHead(404).end();
    }
  });
}
