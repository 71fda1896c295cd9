import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { openApiDocument } from './document.js';
import { PAGE, START } from './docs-page.js';
import type { HttpResponse } from '../http/response.js';
import type { ReferencePath } from './reference-paths.js';

interface Content {
  readonly type: string;
  readonly read: () => string | Buffer;
}

interface Page {
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const require = createRequire(import.meta.url);
const assets = join(dirname(require.resolve('@fastify/swagger-ui/package.json')), 'static');
const asset = (name: string) => (): Buffer => readFileSync(join(assets, name));
const page: Content = { type: 'text/html; charset=utf-8', read: () => PAGE };

const CONTENTS: Readonly<Record<ReferencePath, Content>> = {
  '/openapi.json': {
    type: 'application/json; charset=utf-8',
    read: () => `${JSON.stringify(openApiDocument(), undefined, 2)}\n`,
  },
  '/docs': page,
  '/docs/': page,
  '/docs/start.js': { type: 'text/javascript; charset=utf-8', read: () => START },
  '/docs/swagger-ui-bundle.js': { type: 'text/javascript; charset=utf-8', read: asset('swagger-ui-bundle.js') },
  '/docs/swagger-ui.css': { type: 'text/css; charset=utf-8', read: asset('swagger-ui.css') },
  '/docs/favicon.png': { type: 'image/png', read: asset('favicon-32x32.png') },
};

/** The page may load and send nothing from or to other origins. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Each is read at its first request. */
const pages = new Map<ReferencePath, Page>();

/** The response to a GET of one of these paths; 304 if the client has the page already. */
export function referenceResponse(
  path: ReferencePath,
  { 'if-none-match': known }: IncomingHttpHeaders,
): HttpResponse<Buffer | undefined> {
  const { etag, headers, body } = pages.get(path) ?? make(path);
  // The header may list several, and a proxy that compresses makes them weak.
  if (known?.includes(etag)) return { status: 304, headers, body: undefined };
  return { status: 200, headers: { ...headers, 'content-length': String(body.length) }, body };
}

function make(path: ReferencePath): Page {
  const { type, read } = CONTENTS[path];
  const body = Buffer.from(read());
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  const headers = {
    'content-type': type,
    // Clients keep the page, and ask each time whether it has changed.
    'cache-control': 'no-cache',
    etag,
    'content-security-policy': POLICY,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  };
  const made = { etag, headers, body };
  pages.set(path, made);
  return made;
}
