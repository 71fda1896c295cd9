/**
 * The response to an error, as JSON: 503 with `Retry-After` where a retry may succeed, the error's own status where it has
 * one, 500 otherwise. Only what the application meant for its clients is in it: the message of an error below 500, and the
 * code of ours.
 *
 * @param error - what was thrown
 * @returns the response, with a body such as `{ "error": "Try again later", "code": "AMBIT_HTTP_OVERLOADED" }`
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 *
 * const container = new Container({ tags: ['application'] });
 * const handler = createHandler(container, () => new Response('hello'), { onError: errorResponse });
 * ```
 */
export function errorResponse(error: unknown): Response {
  const { statusCode, status = statusCode, message, code, unavailable } = Object(error) as Record<string, unknown>;
  const known = typeof status === 'number' && status >= 400 && status < 600 ? status : 500;
  const isOurs = typeof code === 'string' && code.startsWith('AMBIT_');
  const text = unavailable === true ? 'Try again later' : known < 500 ? String(message) : 'Internal error';
  return Response.json(
    { error: text, ...(isOurs ? { code } : {}) },
    { status: known, headers: known === 503 ? { 'retry-after': '1' } : {} },
  );
}
