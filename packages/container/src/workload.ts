import { setMaxListeners, setTimeout } from '#platform';
import type { IContainer } from './contract.js';
import { ContainerError, show } from './errors.js';

/** How long `drainScopes()` waits. */
export interface DrainScopesOptions {
  /** How long work in progress may go on before its signal aborts; `Infinity`: forever. Default 10 s. */
  readonly timeoutMs?: number;
  /** How long aborted work may take to settle. Default 1 s. */
  readonly abortTimeoutMs?: number;
}

// A longer time does not fit a timer of Node, which would then fire at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The work in progress on one container or scope: each in a scope of its own, directly below. */
export class Workload {
  static readonly #byContainer = new WeakMap<IContainer, Workload>();

  /** The workload of the container; `signal` is that of the work whose own scope the container is. */
  static of(container: IContainer, signal?: AbortSignal): Workload {
    let workload = Workload.#byContainer.get(container);
    if (!workload) Workload.#byContainer.set(container, (workload = new Workload(signal)));
    return workload;
  }

  readonly #running = new Set<RunningWork>();
  readonly #signal: AbortSignal | undefined;
  #drained: Promise<number> | undefined;

  private constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  /** Enters work that is about to start; it must call `finish()`. */
  begin(signal: AbortSignal | undefined): RunningWork {
    if (this.#drained)
      throw new ContainerError('AMBIT_DRAINING', {
        about: 'Shutdown has begun: new work is refused',
        hint: 'drainScopes() was called, or the scope around it is being disposed: stop what starts new work first; a queue delivers the job again',
      });
    const sources = [signal, this.#signal].filter((source) => source !== undefined);
    for (const source of sources) if (source.aborted) throw source.reason;
    const running = new RunningWork(sources, () => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }

  /** Refuses new work, and waits for what is in progress. Resolves to how much of it is still running in the end. */
  drain({ timeoutMs = 10_000, abortTimeoutMs = 1000 }: DrainScopesOptions = {}): Promise<number> {
    checkTime('timeoutMs', timeoutMs);
    checkTime('abortTimeoutMs', abortTimeoutMs);
    return (this.#drained ??= this.#drain(timeoutMs, abortTimeoutMs));
  }

  async #drain(timeoutMs: number, abortTimeoutMs: number): Promise<number> {
    const allFinished = Promise.all([...this.#running].map(({ finished }) => finished));
    if (await settlesWithin(timeoutMs, allFinished)) return 0;
    const late = new ContainerError('AMBIT_DRAIN_TIMEOUT', {
      about: `The work was still running ${timeoutMs} ms after shutdown began`,
      hint: 'give drainScopes() a longer timeoutMs, or let the work stop when its signal aborts',
    });
    for (const running of this.#running) running.abort(late);
    await settlesWithin(abortTimeoutMs, allFinished);
    return this.#running.size;
  }
}

/** One piece of work, from before its scope is opened until after it is disposed. */
class RunningWork {
  readonly #controller = new AbortController();
  readonly #stopFollowing: (() => void)[] = [];
  readonly #onFinish: () => void;
  #resolveFinished!: () => void;
  readonly finished = new Promise<void>((resolve) => (this.#resolveFinished = resolve));

  constructor(sources: readonly AbortSignal[], onFinish: () => void) {
    this.#onFinish = onFinish;
    for (const source of sources) this.#follow(source);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  finish(): void {
    for (const stop of this.#stopFollowing) stop();
    this.#onFinish();
    this.#resolveFinished();
  }

  /** Not with AbortSignal.any(): on Node 20 a long-lived signal keeps every signal made of it in memory. */
  #follow(source: AbortSignal): void {
    const onAbort = (): void => this.abort(source.reason);
    // One signal may cancel any number of jobs at once; Node would warn from the eleventh on. Polyfills are no event targets.
    if (source instanceof EventTarget) setMaxListeners(0, source);
    source.addEventListener('abort', onAbort, { once: true });
    this.#stopFollowing.push(() => source.removeEventListener('abort', onAbort));
  }
}

function checkTime(name: string, value: unknown): void {
  if (typeof value === 'number' && value >= 0) return;
  throw new ContainerError('AMBIT_BAD_OPTION', {
    about: `drainScopes() got ${name}: ${show(value)}`,
    hint: 'pass a number of milliseconds, or Infinity for no limit',
  });
}

async function settlesWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer;
  const late = new Promise<false>((resolve) => {
    if (ms <= LONGEST_TIMER_MS) timer = setTimeout(resolve, ms, false);
  });
  const isInTime = await Promise.race([work.then(() => true), late]);
  clearTimeout(timer);
  return isInTime;
}
