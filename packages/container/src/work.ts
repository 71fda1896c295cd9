import { setMaxListeners } from '#platform';
import { type IContainer, runInScope } from './contract.js';
import { ContainerError, show } from './errors.js';
import { workFailed } from './events.js';
import { settlesWithin, timeLimit } from './time-limit.js';

/** The time that `drainScopes()` waits. */
export interface DrainScopesOptions {
  /** The time that work in progress may go on before its signal aborts; `Infinity`: forever. Default 10 s. */
  readonly timeoutMs?: number;
  /** The time that aborted work may take to settle. Default 1 s. */
  readonly abortTimeoutMs?: number;
}

/** The work in progress on one container or scope: each in a scope of its own, directly below. */
class Workload {
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
    if (await settles(allFinished, timeoutMs)) return 0;
    const late = new ContainerError('AMBIT_DRAIN_TIMEOUT', {
      about: `The work was still running ${timeoutMs} ms after shutdown began`,
      hint: 'give drainScopes() a longer timeoutMs, or let the work stop when its signal aborts',
    });
    for (const running of this.#running) running.abort(late);
    await settles(allFinished, abortTimeoutMs);
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

  /** AbortSignal.any() is not used: on Node 20 a long-lived signal keeps every signal made of it in memory. */
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
  throw new ContainerError('AMBIT_OPTION', {
    about: `drainScopes() got ${name}: ${show(value)}`,
    hint: 'pass a number of milliseconds, or Infinity for no limit',
  });
}

async function settles(work: Promise<unknown>, ms: number): Promise<boolean> {
  const limit = timeLimit(ms);
  const isInTime = await settlesWithin(limit, work);
  clearTimeout(limit.timer as number);
  return isInTime;
}

declare global {
  /** Node's own, or the DOM's. Declared for a project that has the types of neither, which may then still use this entry point. */
  interface AbortSignal {}
}

/** The type of the scopes that the container opens. */
export type ScopeOf<C extends IContainer> = ReturnType<C['createScope']>;

/** The options of `inScope()`. */
export interface InScopeOptions<C extends IContainer = IContainer> {
  /** The tags of the scope. Default `['job']`. */
  readonly tags?: readonly string[];
  /** True if the scope is the `currentScope()` of all that the work causes. Default `false`. */
  readonly current?: boolean;
  /** Aborts the signal that the work receives. */
  readonly signal?: AbortSignal | undefined;
  /** Registers the data of this one job, message or operation on its scope, before the work starts. */
  readonly register?: (scope: ScopeOf<C>) => unknown;
  /** Receives the `DisposeError` when the scope failed to dispose. Default: a process warning. */
  readonly onError?: (error: unknown) => unknown;
}

/**
 * Opens a scope, runs the work in it and disposes the scope, whether the work returns, throws or is cancelled. What the work threw is the
 * reason of the disposal, which disposers receive.
 * A scope that fails to dispose does not change the result: work that is done must not be retried because of its cleanup.
 * Work that opens further scopes with `inScope(scope, ...)` is done when they are.
 *
 * @param container - where the scope is opened: the application's container, or a scope such as that of a connection
 * @param options - what the scope is for, and what cancels the work
 * @param work - receives the scope, and a signal that aborts with `options.signal`, with the work around it, and when
 *   `drainScopes()` runs out of time. The scope is disposed when the work settles, so that nothing is disposed under it:
 *   pass the signal on to whatever waits.
 * @returns what the work returns
 * @throws what the work throws; the signal's reason, if it has aborted before; `ContainerError` `AMBIT_DRAINING`: shutdown has begun
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import { drainScopes, inScope } from '@ambit/container/work';
 *
 * const app = new Container({ tags: ['application'] });
 * await inScope(app, { tags: ['job'], signal: AbortSignal.timeout(60_000) }, async (scope, signal) => {
 *   await scope.resolve<{ send(signal: AbortSignal): Promise<void> }>('INewsletter').send(signal);
 * });
 *
 * process.once('SIGTERM', async () => {
 *   await drainScopes(app, { timeoutMs: 5000 });
 *   await app.dispose();
 * });
 * ```
 */
export async function inScope<C extends IContainer, T>(
  container: C,
  { tags = ['job'], current = false, signal, register, onError = warn }: InScopeOptions<C>,
  work: (scope: ScopeOf<C>, signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  const running = Workload.of(container).begin(signal);
  try {
    const scope = container.createScope({ tags: [...tags] }) as ScopeOf<C>;
    const nested = Workload.of(scope, running.signal);
    const workAndDispose = async (): Promise<T> => {
      let reason: unknown;
      try {
        if (register) {
          await register(scope);
          running.signal.throwIfAborted();
        }
        return await work(scope, running.signal);
      } catch (error) {
        reason = error;
        if (workFailed.hasSubscribers) workFailed.publish({ scope, error });
        throw error;
      } finally {
        await nested.drain({ timeoutMs: Infinity });
        await disposeAndReport(scope, reason, onError);
      }
    };
    return await (current ? runInScope(scope, workAndDispose) : workAndDispose());
  } finally {
    running.finish();
  }
}

/**
 * For shutdown, before `container.dispose()`: `inScope(container, ...)` refuses new work with `AMBIT_DRAINING`, and the work
 * in progress may finish. What is still running after `timeoutMs` has its signal aborted.
 *
 * @param container - the one that `inScope` was called with
 * @param options - how long it waits. Default: 10 s for the work to finish, and 1 s after its signal aborted
 * @returns how many are still running `abortTimeoutMs` after that; `container.dispose()` then disposes their scopes.
 *   Called again, it returns the same promise.
 * @throws `ContainerError` `AMBIT_OPTION`: a time is not a number of milliseconds
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import { drainScopes } from '@ambit/container/work';
 *
 * const app = new Container({ tags: ['application'] });
 * process.once('SIGTERM', async () => {
 *   const stillRunning = await drainScopes(app, { timeoutMs: 5000 });
 *   await app.dispose();
 *   process.exitCode = stillRunning > 0 ? 1 : 0;
 * });
 * ```
 */
export async function drainScopes(container: IContainer, options: DrainScopesOptions = {}): Promise<number> {
  return Workload.of(container).drain(options);
}

async function disposeAndReport(
  scope: IContainer,
  reason: unknown,
  onError: (error: unknown) => unknown,
): Promise<void> {
  try {
    await scope.dispose(reason);
  } catch (error) {
    try {
      await onError(error);
    } catch {
      warn(error);
    }
  }
}

const warn = (error: unknown): void => process.emitWarning(error instanceof Error ? error : String(error));
