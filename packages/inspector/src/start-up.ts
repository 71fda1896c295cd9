import type { Container, Key } from '@ambit/container';
import { subscribeAll } from './channels.js';
import { boxOf, label, lineageOf } from './names.js';
import type { StartUp, StartUpService } from './wire.js';

interface Created {
  readonly scope: Container;
  readonly key: Key;
  readonly milliseconds: number;
}

const MOST = 2000;

/** The instances that the application creates before its first request: that is when pools connect, and files are read. */
export class StartUpRecorder {
  readonly #application: Container;
  readonly #services: StartUpService[] = [];
  /** `performance.now()` counts from the start of the process. */
  readonly #inspected = performance.now();
  #firstRequest: number | undefined;
  readonly #stop: () => void;

  constructor(application: Container) {
    this.#application = application;
    this.#stop = subscribeAll<Created>({ 'ambit:instance:created': (message) => this.#created(message) });
  }

  /** The first request has arrived. */
  finish(): void {
    if (this.#firstRequest !== undefined) return;
    this.#firstRequest = performance.now();
    this.#stop();
  }

  state(): StartUp {
    return {
      inspected: this.#inspected,
      ...(this.#firstRequest !== undefined && { firstRequest: this.#firstRequest }),
      services: this.#services,
    };
  }

  #created({ scope, key, milliseconds }: Created): void {
    const isOurs = scope === this.#application || scope.parent === this.#application;
    if (!isOurs || this.#services.length >= MOST) return;
    this.#services.push({
      box: boxOf(lineageOf(scope)),
      key: label(key),
      at: performance.now(),
      took: milliseconds,
    });
  }
}
