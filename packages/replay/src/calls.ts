import { errorMonitor } from 'node:events';
import http, { type ClientRequest, type IncomingMessage, type OutgoingMessage } from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import { type Bytes, pairsOf } from './data.js';
import { Kept, type OpenCall, type OpenRecording, type OpenStep } from './open-recording.js';

/** Node's own, also while it is replaced. */
export const realRequest = http.request;

type Request = typeof http.request;
type Wrap = (real: Request, protocol: string) => Request;

/** Replaces what sends HTTP requests in this process. The function returned puts it back. */
export function replaceCalls(ownFetch: (real: typeof fetch) => typeof fetch, wrap: Wrap): () => void {
  const realFetch = globalThis.fetch;
  globalThis.fetch = ownFetch(realFetch);
  const undo = ([http, https] as const).flatMap((library) =>
    (['request', 'get'] as const).map((name) => {
      const real: Request = library[name];
      library[name] = wrap(real, library === http ? 'http:' : 'https:') as never;
      return () => (library[name] = real as never);
    }),
  );
  syncBuiltinESMExports();
  return () => {
    globalThis.fetch = realFetch;
    for (const one of undo) one();
    syncBuiltinESMExports();
  };
}

export interface Call {
  readonly name: string;
  readonly url: string;
  readonly body?: Bytes;
}

/** The method, address and body of a call of `fetch()`; a body that is a stream is not read. */
export function callOf(input: string | URL | Request_, init: RequestInit | undefined): Call {
  const isRequest = typeof input === 'object' && 'method' in input;
  const name = init?.method ?? (isRequest ? input.method : 'GET');
  const { body } = init ?? {};
  return {
    name: name.toUpperCase(),
    url: isRequest ? input.url : String(input),
    ...(typeof body === 'string' && { body: { text: body } }),
  };
}
type Request_ = globalThis.Request;

/** Records the requests that handlers send. The function returned stops that. */
export function recordCalls(current: () => OpenRecording | undefined): () => void {
  const ownFetch = (real: typeof fetch): typeof fetch =>
    async function fetch(input, init) {
      const recording = current();
      if (!recording || recording.isOver) return real(input, init);
      const { name, url, body: text } = callOf(input, init);
      const sentBody = text && new Kept(recording, `the body of ${name} ${url}`);
      sentBody?.add(text?.text);
      const [step, call] = begin(recording, name, { url, ...(sentBody && { body: sentBody }) });
      try {
        const response = await real(input, init);
        const body = keep(recording, step, call, response.status, [...response.headers]);
        if (response.body) void read(response.clone(), body);
        return response;
      } catch (error) {
        recording.fail(step, error);
        throw error;
      }
    };
  const wrap: Wrap = (real) =>
    ((...args: Parameters<Request>) => {
      const recording = current();
      const request = Reflect.apply(real, undefined, args);
      if (recording && !recording.isOver) follow(request, recording);
      return request;
    }) as Request;
  return replaceCalls(ownFetch, wrap);
}

function begin(recording: OpenRecording, name: string, call: OpenCall): [OpenStep | undefined, OpenCall] {
  const step = recording.begin('call', name);
  if (step) step.call = call;
  return [step, call];
}

/** The body of the response is kept while it arrives. */
function keep(
  recording: OpenRecording,
  step: OpenStep | undefined,
  call: OpenCall,
  status: number,
  headers: [string, string][],
): Kept {
  recording.settle(step);
  call.status = status;
  call.headers = headers;
  return (call.response = new Kept(recording, `the response of ${call.url}`));
}

async function read(response: Response, body: Kept): Promise<void> {
  try {
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) body.add(chunk);
  } catch {
    // Its reader has the error, too.
  }
}

function follow(request: ClientRequest, recording: OpenRecording): void {
  const { protocol, host, path } = request;
  const written = new Kept(recording, `the body of ${request.method} ${host}`);
  const url = `${protocol}//${String(request.getHeader('host') ?? host)}${path}`;
  const [step, call] = begin(recording, request.method, { url, body: written });
  tapWrites(request, written);
  // A listener would change what Node does for a request without one.
  const emit = request.emit.bind(request) as (...args: unknown[]) => boolean;
  request.emit = (...args: unknown[]) => {
    if (args[0] === 'response') {
      const response = args[1] as IncomingMessage;
      tapBody(response, keep(recording, step, call, response.statusCode ?? 0, pairsOf(response.headers)));
    }
    return emit(...args);
  };
  request.once(errorMonitor, (error) => {
    if (step?.settled === undefined) recording.fail(step, error);
  });
}

/** Keeps what arrives, without reading it: the application reads at its own pace. */
export function tapBody(message: IncomingMessage, body: Kept): void {
  const push = message.push.bind(message);
  message.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (chunk !== null) body.add(chunk, encoding);
    return push(chunk, encoding);
  };
}

/** Keeps what is sent. */
export function tapWrites(message: OutgoingMessage, body: Kept): void {
  for (const name of ['write', 'end'] as const) {
    const real = message[name].bind(message) as (...args: unknown[]) => never;
    message[name] = (...args: unknown[]) => {
      body.add(args[0], args[1]);
      return real(...args);
    };
  }
}
