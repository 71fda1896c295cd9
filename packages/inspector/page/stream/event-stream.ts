import type { StreamMessage } from './store.js';

const RETRY_MS = 1000;

/** The events of the server, also across its restarts, until the stream is closed. */
export class EventStream {
  live = false;
  readonly #url: string;
  readonly #take: (message: StreamMessage) => void;
  #source: EventSource | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(url: string, take: (message: StreamMessage) => void) {
    this.#url = url;
    this.#take = take;
  }

  open(): void {
    if (this.#source) return;
    const source = new EventSource(this.#url);
    this.#source = source;
    source.addEventListener('hello', ({ data }: MessageEvent<string>) => {
      this.live = true;
      this.#take({ kind: 'hello', data });
    });
    source.addEventListener('message', ({ data }: MessageEvent<string>) => this.#take({ kind: 'tick', data }));
    source.addEventListener('error', () => {
      this.live = false;
      this.#take({ kind: 'reconnecting' });
      // The browser reconnects by itself, but not after an error response.
      if (source.readyState === EventSource.CLOSED) this.#retry = setTimeout(() => this.#reopen(), RETRY_MS);
    });
  }

  close(): void {
    clearTimeout(this.#retry);
    this.#source?.close();
    this.#source = undefined;
    this.live = false;
  }

  #reopen(): void {
    this.close();
    this.open();
  }
}
