import type { IncomingMessage, ServerResponse } from 'node:http';

/** The data of the pages. */
export interface PageFeed {
  /** Called when somebody begins to look. */
  start(): void;
  /** Called when nobody has looked for a while. */
  stop(): void;
  /** The first message to a page. */
  hello(): unknown;
  /** The message that all pages get at each tick. */
  tick(): unknown;
}

export interface PageTimes {
  readonly tickMs: number;
  /** For so long it goes on after the last page was closed. */
  readonly lingerMs: number;
  /** For so long it goes on after the last call of a tool. */
  readonly lookMs: number;
}

/** A page that does not read its messages is disconnected; it reconnects, and gets everything in one message. */
const MAX_UNREAD_BYTES = 4_000_000;
const MAX_PAGES = 20;

/** The open pages, each a stream of server-sent events. While nobody looks, no timer runs. */
export class OpenPages {
  readonly #feed: PageFeed;
  readonly #times: PageTimes;
  readonly #pages = new Set<ServerResponse>();
  #server: { readonly listening?: boolean } | undefined;
  #ticking: NodeJS.Timeout | undefined;
  /** When it stops, if no page is open then. */
  #until = 0;

  constructor(feed: PageFeed, times: PageTimes) {
    this.#feed = feed;
    this.#times = times;
  }

  open({ socket }: IncomingMessage, response: ServerResponse): void {
    if (this.#pages.size >= MAX_PAGES) {
      response.writeHead(503).end(`${MAX_PAGES} pages are open already`);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    this.#lookFor(this.#times.lingerMs);
    this.#pages.add(response);
    // Node sets it on every socket it accepts.
    this.#server = (socket as { readonly server?: { readonly listening?: boolean } }).server;
    response.on('close', () => {
      this.#pages.delete(response);
      if (this.#ticking) this.#lookFor(this.#times.lingerMs);
    });
    // The stream is idle between two messages, so the idle timeout of the server must not close it.
    socket.setTimeout(0);
    response.write(`retry: 500\nevent: hello\ndata: ${JSON.stringify(this.#feed.hello())}\n\n`);
  }

  /** Somebody looks without a stream, and may do so again for a while. */
  look(): void {
    this.#lookFor(this.#times.lookMs);
  }

  /** Closes the streams of all pages: a server that closes would wait for them forever. */
  closeAll(): void {
    for (const page of this.#pages) page.end();
    this.#stop();
  }

  #lookFor(milliseconds: number): void {
    this.#until = Math.max(this.#until, performance.now() + milliseconds);
    if (this.#ticking) return;
    this.#feed.start();
    this.#ticking = setInterval(() => this.#tick(), this.#times.tickMs).unref();
  }

  #tick(): void {
    if (this.#server?.listening === false) return this.closeAll();
    // The last page may reconnect: changes are kept for it.
    if (this.#pages.size === 0) return performance.now() > this.#until ? this.#stop() : undefined;
    const message = `data: ${JSON.stringify(this.#feed.tick())}\n\n`;
    for (const page of this.#pages) {
      if (page.writableLength > MAX_UNREAD_BYTES) page.destroy();
      else page.write(message);
    }
  }

  #stop(): void {
    if (!this.#ticking) return;
    clearInterval(this.#ticking);
    this.#ticking = undefined;
    this.#until = 0;
    this.#feed.stop();
  }
}
