import type { IContainer } from '@ambit/container';

/** Calls `fn` once, when the scope is disposed. Our container runs first what was deferred last, so this comes last. */
export function whenDisposed(scope: IContainer, fn: () => void): void {
  if (scope.defer) return void scope.defer(fn);
  const dispose = scope.dispose.bind(scope);
  let disposing: Promise<void> | undefined;
  scope.dispose = () => (disposing ??= (async () => dispose())().finally(fn));
}
