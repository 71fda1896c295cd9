// GraphQL and tRPC subscriptions return a stream: their scope is disposed when the stream ends.
import type { Container } from '@ambit/container';
import { inScope, type InScopeOptions } from '@ambit/container/work';

/** `inScope` for work that may return a stream. Its scope then stays open until the stream ends, fails, is closed or aborted. */
export function inStreamScope<T>(
  app: Container,
  options: InScopeOptions<Container>,
  work: (scope: Container, signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    inScope(app, options, async (scope, signal) => {
      const result = await work(scope, signal);
      if (isStream(result)) await new Promise<void>((onEnd) => resolve(watched(result, signal, onEnd) as T));
      return result;
    }).then(resolve, reject);
  });
}

const isStream = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

/** Not an async generator: one that is closed before it was read never runs its `finally`. */
function watched(
  source: AsyncIterable<unknown>,
  signal: AbortSignal,
  onEnd: () => void,
): AsyncIterableIterator<unknown> {
  const iterator = source[Symbol.asyncIterator]();
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  aborted.catch(() => close());
  const close = async (): Promise<void> => {
    // A source that waits for its next value cannot be closed before it has one; it need not keep the scope open.
    iterator.return?.().catch(() => undefined);
    onEnd();
  };
  return {
    next: async () => {
      try {
        const result = await Promise.race([iterator.next(), aborted]);
        if (result.done) onEnd();
        return result;
      } catch (error) {
        onEnd();
        throw error;
      }
    },
    return: async (value) => {
      await close();
      return { done: true, value };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
