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
  const endAfter = async (step: Promise<IteratorResult<unknown>> | undefined): Promise<IteratorResult<unknown>> => {
    try {
      return (await step) ?? { done: true, value: undefined };
    } finally {
      onEnd();
    }
  };
  const close = () => endAfter(iterator.return?.());
  // A source that waits for its next value closes once it has it, or at once if it heeds the signal itself.
  signal.addEventListener('abort', () => void close().catch(() => undefined));
  return {
    next: async () => {
      const step = iterator.next();
      const isLast = await step.then(
        ({ done }) => done === true,
        () => true,
      );
      return isLast ? endAfter(step) : step;
    },
    return: close,
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
