import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { openApiDocument } from './document.js';
import { PAGE, START } from './docs-page.js';
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

interface PageAnswer {
  readonly status: 200 | 304;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
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

/** Nothing comes from elsewhere, and nothing goes there. */
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

/** Read when first asked for. */
const pages = new Map<ReferencePath, Page>();

/** What a GET of one of these paths is answered, on both hosts; 304 where the client has it already. */
export function referenceAnswer(path: ReferencePath, { 'if-none-match': known }: IncomingHttpHeaders): PageAnswer {
  const { etag, headers, body } = pages.get(path) ?? make(path);
  // One of several, or made weak by a proxy that compresses.
  if (known?.includes(etag)) return { status: 304, headers };
  return { status: 200, headers: { ...headers, 'content-length': String(body.length) }, body };
}

function make(path: ReferencePath): Page {
  const { type, read } = CONTENTS[path];
  const body = Buffer.from(read());
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  const headers = {
    'content-type': type,
    // Kept by clients, and asked for each time whether it is still the same.
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
