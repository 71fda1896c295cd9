import { randomUUID } from 'node:crypto';

/** The id that a proxy or another service gave the request, or else a new one. */
export const requestIdOf = (given: string | undefined): string =>
  given !== undefined && /^[\w-]{1,64}$/.test(given) ? given : randomUUID();

/** One line of JSON for each request. The client has the id as `x-request-id`. */
export function logRequest(line: { id: string; method: string; path: string; status: number; begun: number }): void {
  const { begun, ...fields } = line;
  const ms = Math.round(performance.now() - begun);
  console.log(JSON.stringify({ time: new Date().toISOString(), ...fields, ms }));
}
