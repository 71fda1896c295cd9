import { once } from 'node:events';
import http, { type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Call, callOf, realRequest, replaceCalls } from '../calls.js';
import { unpackedBytes } from '../data.js';
import { unpackedError } from '../errors.js';
import type { Step } from '../recording.js';
import type { Replaying } from './replaying.js';

const CALL_HEADER = 'x-ambit-replay-call';
/** These say how the recorded body was sent. */
const OF_TRANSFER = /^(?:content-encoding|content-length|transfer-encoding|connection|keep-alive)$/i;
const WITHOUT_BODY: ReadonlySet<number> = new Set([101, 204, 205, 304]);

/**
 * The requests that handlers send get the recorded responses: `fetch()` at once, and those of `node:http` from a server of this process, so that
 * all that Node does with them stays as it is.
 */
export async function replayCalls(current: () => Replaying | undefined): Promise<() => void> {
  local ??= listenLocally();
  const port = await local;

  const ownFetch = (real: typeof fetch): typeof fetch =>
    async function fetch(input, init) {
      const replaying = current();
      if (!replaying) return real(input, init);
      const step = take(replaying, callOf(input, init));
      return replaying.later(step, () => {
        if (step.error !== undefined) throw fetchError(unpackedError(step.error));
        replaying.statements.bindings.see(step.response);
        const { status = 200, response = {} } = step;
        const body = WITHOUT_BODY.has(status) ? null : new Uint8Array(unpackedBytes(response));
        const made = new Response(body, { status, headers: headersOf(step) as [string, string][] });
        return Object.defineProperty(made, 'url', { value: step.url });
      });
    };
  const undo = replaceCalls(ownFetch, (real, protocol) => {
    const request = (...args: unknown[]): ClientRequest => {
      const replaying = current();
      if (!replaying) return Reflect.apply(real, undefined, args) as ClientRequest;
      const { options, url, callback } = targetOf(args, protocol);
      const id = String((calls += 1));
      const { headers, method = 'GET', signal, timeout } = options;
      const sent = realRequest(
        {
          host: '127.0.0.1',
          port,
          method,
          agent: false,
          path: '/',
          ...(signal && { signal }),
          ...(timeout !== undefined && { timeout }),
          headers: { ...(headers as http.OutgoingHttpHeaders), [CALL_HEADER]: id },
        },
        callback,
      );
      open.set(id, { replaying, url, request: sent });
      if (real.name === 'get') sent.end();
      return sent;
    };
    return request;
  });
  return undo;
}

let local: Promise<number> | undefined;
let calls = 0;

/** It stays for the next replay, and keeps no process running. */
async function listenLocally(): Promise<number> {
  const server = http.createServer((request, response) => void respond(request, response));
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const open = new Map<
  string,
  { readonly replaying: Replaying; readonly url: string; readonly request: ClientRequest }
>();

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const id = String(request.headers[CALL_HEADER]);
  const call = open.get(id);
  open.delete(id);
  if (!call) return void response.destroy();
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  const body = { text: Buffer.concat(chunks).toString('utf8') };
  try {
    const step = take(call.replaying, { name: request.method ?? '', url: call.url, body });
    await call.replaying.later(step, () => undefined);
    if (step.error !== undefined) throw unpackedError(step.error) as Error;
    call.replaying.statements.bindings.see(step.response);
    for (const [name, value] of headersOf(step)) response.setHeader(name, value);
    response.writeHead(step.status ?? 200).end(unpackedBytes(step.response ?? {}));
  } catch (error) {
    call.request.destroy(error as Error);
  }
}

/** `fetch()` says of each failure of the network that it failed, and why in the cause. */
function fetchError(error: unknown): unknown {
  const { name, message, cause } = error as Error;
  return name === 'TypeError' ? new TypeError(message, { cause }) : error;
}

function take(replaying: Replaying, call: Call): Step {
  const { statements } = replaying;
  const text = `${call.name} ${call.url}`;
  const body = call.body?.text ?? '';
  const step = statements.takeAlone({
    text,
    match: (one) => {
      if (one.kind !== 'call' || one.name !== call.name) return undefined;
      return statements.bindings.match([one.url, one.body?.text ?? ''], [call.url, body], one);
    },
  });
  if (!step) throw replaying.diverged(statements.difference(text, text, undefined, statements.nextOf(undefined)));
  replaying.begins(step);
  return step;
}

const headersOf = ({ headers = [] }: Step): (readonly [string, string])[] =>
  headers.filter(([name]) => !OF_TRANSFER.test(name));

/** The arguments of `http.request()`: an address, options, or both. */
function targetOf(args: readonly unknown[], ofLibrary: string) {
  const [first] = args;
  const isAddress = typeof first === 'string' || first instanceof URL;
  const address = isAddress ? new URL(String(first)) : undefined;
  const second = args[isAddress ? 1 : 0];
  const options = (typeof second === 'object' && second !== null ? second : {}) as http.RequestOptions;
  const last = args.at(-1);
  const { protocol = address?.protocol ?? ofLibrary, path = `${address?.pathname ?? '/'}${address?.search ?? ''}` } =
    options;
  const name = options.hostname ?? options.host ?? address?.hostname ?? 'localhost';
  const port = options.port ?? address?.port ?? '';
  const isDefault = port === '' || Number(port) === (protocol === 'https:' ? 443 : 80);
  return {
    options,
    url: `${protocol}//${name}${isDefault ? '' : `:${port}`}${path}`,
    callback: typeof last === 'function' ? (last as (response: IncomingMessage) => void) : undefined,
  };
}
