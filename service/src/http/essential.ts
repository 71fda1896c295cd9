import type { IncomingMessage } from 'node:http';

const ESSENTIAL: ReadonlySet<unknown> = new Set(['/health/live', '/metrics']);

/** What is answered even where the service takes on no further requests: refused, it would be restarted. */
export function isEssential({ url }: IncomingMessage): boolean {
  return ESSENTIAL.has(url);
}
