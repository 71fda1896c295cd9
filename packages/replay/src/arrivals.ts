import type { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Subscribes to channels; the returned function stops that. What a subscriber throws would stop it. */
export function listen(handlers: Readonly<Record<string, (message: never) => void>>): () => void {
  const listeners = Object.entries(handlers).map(([name, handle]): [string, (message: unknown) => void] => [
    name,
    (message) => {
      try {
        handle(message as never);
      } catch (error) {
        process.emitWarning(error as Error);
      }
    },
  ]);
  for (const [name, listener] of listeners) subscribe(name, listener);
  return () => listeners.forEach(([name, listener]) => unsubscribe(name, listener));
}

interface Started {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * Follows the requests of all servers of `node:http`, whatever framework is on them, and what their handlers fail with.
 *
 * @param contexts - what `begin` gives is found there by all that the handler calls
 * @param begin - called with each request; gives nothing for one that is not followed
 * @param failed - called with what a handler has thrown
 */
export function followRequests<T>(
  contexts: AsyncLocalStorage<T | undefined>,
  begin: (request: IncomingMessage, response: ServerResponse) => T | undefined,
  failed: (context: T, error: unknown) => void,
): () => void {
  const note = ({ error }: { readonly error: unknown }): void => {
    const context = contexts.getStore();
    if (context !== undefined) failed(context, error);
  };
  return listen({
    'http.server.request.start': ({ request, response }: Started) => contexts.enterWith(begin(request, response)),
    'ambit:handler:failed': note,
    'tracing:fastify.request.handler:error': note,
  });
}
