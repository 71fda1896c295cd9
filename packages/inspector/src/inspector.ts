import { openScopes } from '@ambit/container/tools';
import type { PoolSize } from '@ambit/transaction';
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Audience } from './audience.js';
import { listen } from './channels.js';
import { Drawing } from './graph-view.js';
import { createHandler, urlOf } from './handler.js';
import { type InspectorOptions, settingsOf } from './options.js';
import { Recorder } from './recorder.js';
import type { Arrival, RequestRecord } from './request-record.js';
import type { Hello } from './wire.js';

const TICK_MS = 250;
/** A page that is loaded again, or whose connection broke, finds everything as it was. */
const LINGER_MS = 5000;

/** A request of the host, and what only the host knows of it. */
export interface Followed extends Pick<Arrival, 'route'> {
  readonly raw: IncomingMessage;
}

/** The inspector without a host: what the adapters for Express and Fastify are made of. */
export class Inspector {
  readonly enabled: boolean;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Whether anybody looks. While nobody does, asking this is all there is to do for a request. */
  watching = false;
  readonly #path: string;
  readonly #audience: Audience;
  readonly #current = new AsyncLocalStorage<RequestRecord>();
  #recorder: Recorder | undefined;

  constructor(options: InspectorOptions) {
    const settings = settingsOf(options);
    const { container, path, token, limitMs, keep, enabled } = settings;
    this.enabled = enabled;
    this.#path = path;
    const boot = randomUUID();
    const pool = poolOf(container);
    const now = (): number => performance.now();
    const current = (): RequestRecord | undefined => this.#current.getStore();
    let stop = (): void => undefined;

    this.#audience = new Audience(
      {
        begin: () => {
          const recorder = new Recorder(container, openScopes(container), { ...settings, now, current });
          stop = listen(recorder);
          this.#recorder = recorder;
          this.watching = true;
        },
        end: () => {
          this.watching = false;
          this.#recorder = undefined;
          stop();
          this.#current.disable();
        },
        hello: (): Hello | undefined => this.#recorder && { boot, limitMs, keep, ...this.#recorder.all(pool()) },
        tick: () => this.#recorder?.tick(pool()),
      },
      { tickMs: TICK_MS, lingerMs: LINGER_MS },
    );
    this.handle = createHandler({
      path,
      token,
      audience: this.#audience,
      drawing: new Drawing(container, settings.scopes),
      details: (id) => this.#recorder?.details(id),
      unseen: (work) => (this.#recorder ? this.#recorder.unseen(work) : work()),
    });
  }

  /** Whether this request is for the inspector itself. */
  owns(request: IncomingMessage): boolean {
    const url = urlOf(request);
    if (!url.startsWith(this.#path)) return false;
    const next = url[this.#path.length];
    return next === undefined || next === '/' || next === '?';
  }

  /** Follows a request from here to the end of its answer; `next` goes on with it. */
  follow({ raw: { method = '', socket }, route }: Followed, response: ServerResponse, next: () => void): void {
    const recorder = this.#recorder;
    const record = recorder?.arrive({ method, route, lost: () => socket.destroyed });
    if (!recorder || !record) {
      next();
      return;
    }
    const over = (): void => {
      if (response.writableFinished) recorder.answered(record, response.statusCode);
      else recorder.aborted(record);
    };
    response.on('finish', over);
    response.on('close', over);
    this.#current.run(record, next);
  }

  /** Lets the open pages go, as when the server closes. */
  close(): void {
    this.#audience.dismiss();
  }
}

/** The size of the application's pool, where it has one that tells. */
function poolOf(container: InspectorOptions['container']): () => PoolSize | undefined {
  return () => {
    try {
      if (container.disposed || !container.has('IDatabasePool')) return undefined;
      const { size } = container.resolve<{ readonly size?: PoolSize }>('IDatabasePool' as string);
      return size && { open: size.open, idle: size.idle, waiting: size.waiting };
    } catch {
      return undefined;
    }
  };
}
