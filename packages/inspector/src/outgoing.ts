import { Agent } from 'node:http';
import { subscribeAll } from './channels.js';
import type { Call, Recorder } from './recorder.js';
import type { TrailOptions } from './trail.js';
import { Where } from './where.js';

interface Message {
  readonly request: object & {
    /** Of undici, and so of `fetch`. */
    readonly origin?: unknown;
    /** Of `node:http`. */
    readonly host?: unknown;
    getHeader?(name: string): unknown;
  };
  readonly error?: unknown;
}

const SOMEWHERE = 'another server';

/** Where the request goes to: host and port, without a path, a password or a header, which may contain values. */
function hostOf(request: Message['request']): string {
  const { origin, host } = request;
  if (origin instanceof URL) return origin.host;
  if (typeof origin === 'string') return URL.canParse(origin) ? new URL(origin).host : SOMEWHERE;
  if (typeof host !== 'string') return SOMEWHERE;
  const name = host.includes(':') ? `[${host}]` : host;
  // Node tells the port only in the header that it makes; the application may have set another one.
  const header = request.getHeader?.('host');
  return typeof header === 'string' && /^:\d+$/.test(header.slice(name.length)) && header.startsWith(name)
    ? header
    : name;
}

/** Records what the handlers of requests ask other servers, by `fetch` or `node:http`. The returned function stops that. */
export function outgoingCalls(recorder: Recorder, { now, current }: TrailOptions): () => void {
  const calls = new WeakMap<object, Call>();
  const begin = ({ request }: Message): void => {
    const owner = current();
    if (!owner || calls.has(request)) return;
    const call = { request: owner, place: new Where(), host: hostOf(request), started: now() };
    calls.set(request, call);
    owner.begins(call);
  };
  const end = ({ request, error }: Message): void => {
    const call = calls.get(request);
    calls.delete(request);
    if (call) recorder.called(call, error);
  };
  const stopListening = subscribeAll<Message>({
    'undici:request:create': begin,
    'undici:request:trailers': end,
    'undici:request:error': end,
    'http.client.request.created': begin,
    'http.client.request.start': begin,
    'http.client.response.finish': end,
    'http.client.request.error': end,
  });
  const stopFollowing = PUBLISHES_CREATED ? undefined : followAgents((request) => begin({ request }));
  return () => {
    stopListening();
    stopFollowing?.();
  };
}

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const PUBLISHES_CREATED = major > 22 || (major === 22 && minor >= 12);

/** Older versions of Node publish a request once it is written, when the stack has lost who made it: until then only the agent knows of it. */
function followAgents(begin: (request: object) => void): () => void {
  const prototype = Agent.prototype as unknown as { addRequest: (request: object, ...rest: unknown[]) => unknown };
  const { addRequest } = prototype;
  let isStopped = false;
  const following = function following(this: Agent, request: object, ...rest: unknown[]): unknown {
    try {
      if (!isStopped) begin(request);
    } catch {
      // The application goes on, and loses a record.
    }
    return addRequest.call(this, request, ...rest);
  };
  prototype.addRequest = following;
  return () => {
    isStopped = true;
    // Another one may have replaced it meanwhile.
    if (prototype.addRequest === following) prototype.addRequest = addRequest;
  };
}
