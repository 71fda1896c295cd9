import type { Hello, Now, RequestSummary, ServiceStats, Tick } from '../src/wire.js';

/** The state that the server has sent, and the listeners for changes. */
export class Store {
  hello: Hello | undefined;
  now: Now | undefined;
  /** In order of arrival. */
  readonly requests = new Map<number, RequestSummary>();
  readonly services = new Map<string, ServiceStats>();
  /** Texts of statements and keys of services, which requests name by index. */
  readonly names: string[] = [];
  readonly #listeners: ((changed: readonly RequestSummary[]) => void)[] = [];
  readonly #onStart: (() => void)[] = [];

  onChange(listener: (changed: readonly RequestSummary[]) => void): void {
    this.#listeners.push(listener);
  }

  /** Called for the first message of each server process: at first, and after a restart. */
  onStart(listener: () => void): void {
    this.#onStart.push(listener);
  }

  begin(hello: Hello): void {
    const isNew = hello.boot !== this.hello?.boot;
    this.hello = hello;
    this.requests.clear();
    this.services.clear();
    this.names.length = 0;
    if (isNew) for (const listener of this.#onStart) listener();
    this.tick(hello);
  }

  tick({ now, requests, services, names }: Tick): void {
    this.names.splice(names.from, names.texts.length, ...names.texts);
    this.now = now;
    for (const request of requests) this.requests.set(request.id, request);
    const { keep = 0, keepTrouble = 0 } = this.hello ?? {};
    this.#keepNewest(keep, ({ trouble }) => !trouble);
    this.#keepNewest(keepTrouble, ({ trouble }) => trouble);
    for (const service of services) this.services.set(`${service.box}\n${service.key}`, service);
    for (const listener of this.#listeners) listener(requests);
  }

  #keepNewest(most: number, isMeant: (request: RequestSummary) => boolean): void {
    const ids = Array.from(this.requests.values())
      .filter(isMeant)
      .map(({ id }) => id);
    for (const id of ids.slice(0, Math.max(0, ids.length - most))) this.requests.delete(id);
  }

  stats(box: string, key: string): ServiceStats | undefined {
    return this.services.get(`${box}\n${key}`);
  }
}
