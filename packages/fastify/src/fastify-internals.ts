import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyPluginAsync, FastifyPluginOptions, FastifyReply } from 'fastify';

/*
 * The private parts that this package uses of Fastify 5, and of light-my-request 6 behind its `inject()`, although it is not public; no
 * other file does.
 *
 * | field                                  | why nothing public does it                                                | where it is missing                                                  |
 * | -------------------------------------- | ------------------------------------------------------------------------- | -------------------------------------------------------------------- |
 * | the symbols of `fastify-plugin`        | Fastify reads them from a plugin                                          | the hooks of the plugin do not reach the application: nothing starts |
 * | `reply.sent`, set; `reply.then`        | a response that waits for COMMIT must count as sent                       | a second response is sent in place of the first, after COMMIT        |
 * | `isLightMyRequest`, `_lightMyRequest`  | an injected response says by no event that its caller has left, or has it | `close()` waits `disposeTimeoutMs` for such a request                |
 */

interface PluginMeta<Options extends FastifyPluginOptions> {
  readonly name: string;
  readonly dependencies?: readonly string[];
  readonly plugin: (server: FastifyInstance, options: Options) => void;
}

/**
 * Works as the package `fastify-plugin` does: the plugin's hooks and decorators belong to the context that registers it,
 * and Fastify checks its version and that what it depends on is there.
 */
export function definePlugin<Options extends FastifyPluginOptions>(
  meta: PluginMeta<Options>,
): FastifyPluginAsync<Options> {
  const { name, dependencies = [], plugin } = meta;
  // Asynchronous, because what a plugin with a callback throws crashes the process.
  const register = async (server: FastifyInstance, options: Options): Promise<void> => plugin(server, options);
  return Object.assign(register, {
    [Symbol.for('skip-override')]: true,
    [Symbol.for('fastify.display-name')]: name,
    [Symbol.for('plugin-meta')]: { name, fastify: '5.x', dependencies },
  });
}

/**
 * Makes a reply count as sent, though not a byte of it is out: what the handler sends, returns or throws now is dropped.
 * Fastify knows a response by its last byte only, and would send what it takes for a first one, or throw where nobody
 * catches. Returns what undoes this.
 */
export function holdReply(
  reply: FastifyReply,
  { until, drop }: { readonly until: Promise<unknown>; readonly drop: (payload: unknown) => void },
): () => void {
  const ownSend = Object.getOwnPropertyDescriptor(reply, 'send');
  Object.defineProperty(reply, 'sent', { value: true, configurable: true });
  reply.send = (second?: unknown) => {
    drop(second);
    reply.log.warn('A second response was dropped: return the reply where you send the first');
    return reply;
  };
  // A handler that awaits or returns the reply waits for the last byte all the same.
  // oxlint-disable-next-line unicorn/no-thenable -- a reply is one
  reply.then = (fulfilled, rejected) => {
    const wait = (): void => reply.then(fulfilled, rejected);
    until.then(wait, wait);
  };
  return () => {
    for (const name of ['then', 'send', 'sent']) Reflect.deleteProperty(reply, name);
    if (ownSend) Object.defineProperty(reply, 'send', ownSend);
  };
}

interface InjectedResponse {
  readonly isLightMyRequest?: boolean;
  readonly _lightMyRequest?: { readonly stream?: { readonly destroyed: boolean } };
}

/** True if an injected request has a caller that takes no more of the response; nobody is notified of that. */
export function isAbandoned(response: object): boolean {
  return (response as InjectedResponse)._lightMyRequest?.stream?.destroyed === true;
}

/** True if the request was passed to the server by `inject()`. */
export function isInjected(response: object): boolean {
  return (response as InjectedResponse).isLightMyRequest === true;
}

/** True if `reply.hijack()` was called. {@link holdReply} gives the reply a property of its own. */
export function isHijacked(reply: FastifyReply | undefined): boolean {
  return reply !== undefined && reply.sent && !reply.raw.writableEnded && !Object.hasOwn(reply, 'sent');
}

/** True if an injected request has its whole response: `finish` is emitted before `writableFinished` is true. */
export function isInjectedWhole(response: ServerResponse): boolean {
  return isInjected(response) && response.writableEnded && !isAbandoned(response);
}
