import type { IncomingMessage, ServerResponse } from 'node:http';

/** The data of the pages. */
export interface PageFeed {
  /** Called when the first page opens. */
  start(): void;
  /** Called when the last page has been closed for `lingerMs`. */
  stop(): void;
  /** The first message to a page. */
  hello(): unknown;
  /** The message that all pages get at each tick. */
  tick(): unknown;
}

export interface PageTimes {
  readonly tickMs: number;
  readonly lingerMs: number;
  readonly lookMs: number;
}

/** A page that does not read its messages is disconnected; it reconnects, and gets everything in one message. */
const MAX_UNREAD_BYTES = 4_000_000;
const MAX_PAGES = 20;

/** The open pages, each a stream of server-sent events. While no page is open, no timer runs. */
export class OpenPages {
  readonly #feed: PageFeed;
  readonly #times: PageTimes;
  /** Each with the end of its session. */
  readonly #pages = new Map<ServerResponse, number>();
  #server: { readonly listening?: boolean } | undefined;
  #ticking: NodeJS.Timeout | undefined;
  #lingering: NodeJS.Timeout | undefined;
  #looksUntil = 0;

  constructor(feed: PageFeed, times: PageTimes) {
    this.#feed = feed;
    this.#times = times;
  }

  /** @param endsAt - when its session is over; by default it has none */
  open({ socket }: IncomingMessage, response: ServerResponse, endsAt = Infinity): void {
    if (this.#pages.size >= MAX_PAGES) {
      response.writeHead(503).end(`${MAX_PAGES} pages are open already`);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    clearTimeout(this.#lingering);
    if (!this.#ticking) this.#start();
    this.#pages.set(response, endsAt);
    // Node sets it on every socket it accepts.
    this.#server = (socket as { readonly server?: { readonly listening?: boolean } }).server;
    response.on('close', () => this.#closed(response));
    // The stream is idle between two messages, so the idle timeout of the server must not close it.
    socket.setTimeout(0);
    response.write(`retry: 500\nevent: hello\ndata: ${JSON.stringify(this.#feed.hello())}\n\n`);
  }

  /** Somebody looks without a stream, and may do so again for a while. */
  look(): void {
    if (!this.#ticking) this.#start();
    this.#looksUntil = Date.now() + this.#times.lookMs;
    if (this.#pages.size === 0) this.#linger(this.#times.lookMs);
  }

  /** Closes the streams of all pages: a server that closes would wait for them forever. */
  closeAll(): void {
    for (const page of this.#pages.keys()) page.end();
    this.#stop();
  }

  #start(): void {
    this.#feed.start();
    this.#ticking = setInterval(() => this.#tick(), this.#times.tickMs);
    this.#ticking.unref();
  }

  #tick(): void {
    if (this.#server?.listening === false) return this.closeAll();
    // The last page may reconnect within `lingerMs`: changes are kept for it.
    if (this.#pages.size === 0) return;
    const message = `data: ${JSON.stringify(this.#feed.tick())}\n\n`;
    for (const [page, endsAt] of this.#pages) {
      if (page.writableLength > MAX_UNREAD_BYTES) page.destroy();
      else if (Date.now() > endsAt) page.end();
      else page.write(message);
    }
  }

  #closed(page: ServerResponse): void {
    this.#pages.delete(page);
    if (this.#pages.size > 0 || !this.#ticking) return;
    this.#linger(Math.max(this.#times.lingerMs, this.#looksUntil - Date.now()));
  }

  #linger(milliseconds: number): void {
    clearTimeout(this.#lingering);
    this.#lingering = setTimeout(() => this.#stop(), milliseconds);
    this.#lingering.unref();
  }

  #stop(): void {
    if (!this.#ticking) return;
    clearTimeout(this.#lingering);
    clearInterval(this.#ticking);
    this.#ticking = undefined;
    this.#feed.stop();
  }
}
