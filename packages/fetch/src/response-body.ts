import type { ActiveRequest } from '@ambit/http/host';

type Source = ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
type Chunk = Awaited<ReturnType<Source['read']>>;

/** A body in memory is read in one to five microtasks on Node, Bun and Deno. */
const MICROTASKS = 10;
const TURN = Promise.resolve();

/** Bun gives a string in chunks of 16 KB. */
const MOST_CHUNKS = 64;

/** A stream that has more is kept in memory only as fast as its client reads it. */
const MOST_BYTES = 1_048_576;

/**
 * Finishes the request when its response body has been read to the end, has failed or is cancelled; at once where there is
 * no body, or all of it is in memory, and for HEAD.
 *
 * @param active - the request
 * @param method - the method of the request
 * @param response - what the handler returned: also `undefined`, of an upgraded connection
 * @returns the response to send
 */
export async function finishWithBody<R extends Response | undefined>(
  active: ActiveRequest,
  method: string,
  response: R,
): Promise<R> {
  const body = response?.body;
  if (response) active.respondedWith(response.status);
  if (!body || body.locked) {
    active.finish();
    return response;
  }
  if (active.isFinished) return without(response, body.cancel()) as R;
  const source: Source = body.getReader();
  active.onDisconnect((reason) => void source.cancel(reason).catch(ignore));
  const beginning = await readWhatIsThere(source);
  // Only a stream needs the scope; a body in memory keeps its length, and is sent by the host as any other.
  if (beginning.isWhole) {
    active.finish();
    return new Response(joined(beginning.chunks), response) as R;
  }
  if (method === 'HEAD') {
    active.finish();
    return without(response, source.cancel()) as R;
  }
  return new Response(followed(active, source, beginning), response) as R;
}

/**
 * In place of a response to a client that has left: no error handler is called for that, and nothing is logged.
 *
 * @returns an empty response of status 499
 */
export function responseToNobody(): Response {
  return new Response(null, { status: 499 });
}

/**
 * Closes the body of a response that will not be sent, so that its source is released.
 *
 * @param response - the response; undefined where there is none
 */
export function discard(response: Response | undefined): void {
  const body = response?.body;
  if (body && !body.locked) body.cancel().catch(ignore);
}

function without(response: Response | undefined, cancelling: Promise<void>): Response {
  cancelling.catch(ignore);
  return new Response(null, response);
}

interface Beginning {
  readonly chunks: Uint8Array<ArrayBuffer>[];
  readonly isWhole: boolean;
  /** A read in progress, of the chunk behind them. */
  readonly next?: Promise<Chunk>;
}

async function readWhatIsThere(source: Source): Promise<Beginning> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for (;;) {
    const next = source.read();
    const chunk = await settledSoon(next);
    // A body that ends is whole even when it is longer than the limit: a long text in memory is one chunk.
    if (chunk?.done) return { chunks, isWhole: true };
    const isFull = chunks.length >= MOST_CHUNKS || bytes >= MOST_BYTES;
    // Bun allows streams of text.
    if (isFull || !(chunk?.value instanceof Uint8Array)) return { chunks, isWhole: false, next };
    chunks.push(chunk.value);
    bytes += chunk.value.length;
  }
}

/** Resolves to the value of the promise, or to undefined where that takes longer, or fails. */
async function settledSoon<T>(promise: Promise<T>): Promise<T | undefined> {
  const settled: { value?: T } = {};
  promise.then((value) => (settled.value = value), ignore);
  for (let i = 0; i < MICROTASKS && settled.value === undefined; i += 1) await TURN;
  return settled.value;
}

function joined(chunks: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  if (chunks.length === 1 && chunks[0]) return chunks[0];
  const whole = new Uint8Array(chunks.reduce((size, { length }) => size + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** Passes the body on. Its last byte, its failure and its reader's cancellation finish the request. */
function followed(active: ActiveRequest, source: Source, { chunks, next }: Beginning): ReadableStream<Uint8Array> {
  let pending = next;
  const read = (): Promise<Chunk> => {
    const reading = pending ?? active.run(() => source.read());
    pending = undefined;
    return reading;
  };
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    const first = chunks.shift();
    if (first) return controller.enqueue(first);
    try {
      const { done, value } = await read();
      if (!done) return controller.enqueue(value);
      // The source was cancelled, and the response must not look whole.
      active.throwIfDisconnected();
      controller.close();
    } catch (error) {
      controller.error(error);
    }
    active.finish();
  };
  const cancel = (reason: unknown): Promise<void> => {
    const cancelling = source.cancel(reason);
    active.leave();
    return cancelling;
  };
  return new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
}

function ignore(): undefined {
  return undefined;
}
