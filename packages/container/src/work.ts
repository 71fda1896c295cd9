import type { IContainer } from './contract.js';
import { runInScope } from './current.js';
import { Workload, type DrainScopesOptions } from './workload.js';

export type { DrainScopesOptions } from './workload.js';

declare global {
  /** Node's own, or the DOM's. Declared for a project that has the types of neither, which may then still use this entry point. */
  interface AbortSignal {}
}

/** The type of the scopes that the container opens. */
export type ScopeOf<C extends IContainer> = ReturnType<C['createScope']>;

/** What `inScope()` opens its scope with, and what cancels its work. */
export interface InScopeOptions<C extends IContainer = IContainer> {
  /** The tags of the scope. Default `['job']`. */
  readonly tags?: readonly string[];
  /** Whether the scope is the `currentScope()` of all that the work causes. Default `false`. */
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
 * @throws `ContainerError` `AMBIT_BAD_OPTION`: a time is not a number of milliseconds
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
