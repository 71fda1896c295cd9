import type { IContainer } from '@ambit/container';
import { type Clock, startTimer } from '../core/clock.js';
import { whenDisposed } from './when-disposed.js';

/** How long a scope that was handed out stays in use, although nobody opens a scope below it. */
const HANDED_OUT_MS = 1000;

interface TenantListener {
  /** The last use has ended. */
  readonly onUnused: (tenant: Tenant) => void;
}

/** One open tenant: its scope, and how often it is in use. */
export class Tenant {
  readonly name: string;
  /** Cancels the timer that runs while it is unused. */
  stopIdleTimer: () => void = () => undefined;
  readonly #clock: Clock;
  readonly #listener: TenantListener;
  /** Scopes below its own, callers that wait for it to open, and callers that have not opened their scope yet. */
  #uses = 0;
  /** Cancels the timers that take back the use of callers that open no scope, oldest first. */
  readonly #handedOut: (() => void)[] = [];
  #scope: IContainer | undefined = undefined;

  constructor(name: string, clock: Clock, listener: TenantListener) {
    this.name = name;
    this.#clock = clock;
    this.#listener = listener;
  }

  get isUnused(): boolean {
    return this.#uses === 0;
  }

  /** Undefined until it is open. */
  get scope(): IContainer | undefined {
    return this.#scope;
  }

  /** From now on the scopes that are opened below its own are counted. */
  opened(scope: IContainer): void {
    this.#scope = scope;
    const createScope = scope.createScope.bind(scope);
    scope.createScope = (options) => {
      const child = createScope(options);
      const stopTimer = this.#handedOut.shift();
      if (stopTimer) stopTimer();
      else this.enter();
      whenDisposed(child, () => this.leave());
      return child;
    };
  }

  enter(): void {
    this.#uses += 1;
    this.stopIdleTimer();
  }

  leave(): void {
    this.#uses -= 1;
    if (this.#uses === 0) this.#listener.onUnused(this);
  }

  /** The use of the caller passes to the next scope that is opened. */
  handOut(): void {
    const takeBack = (): void => {
      this.#handedOut.splice(this.#handedOut.indexOf(stopTimer), 1);
      this.leave();
    };
    const stopTimer = startTimer(this.#clock, takeBack, HANDED_OUT_MS);
    this.#handedOut.push(stopTimer);
  }

  /** Nobody is to be called any more. */
  stopTimers(): void {
    this.stopIdleTimer();
    for (const stopTimer of this.#handedOut.splice(0)) stopTimer();
  }
}
