import type { IContainer } from '@ambit/container';

/**
 * Makes `fn` part of the end of `scope`, whoever ends it. Our container has a hook for that; of another container we
 * replace `dispose` on this one scope, and so see every end except one that its parent brings about by other means.
 */
export function onScopeEnd(scope: IContainer, fn: () => Promise<void> | undefined): void {
  if (scope.defer) {
    scope.defer(fn);
    return;
  }
  const dispose = scope.dispose.bind(scope);
  let ended: Promise<void> | undefined;
  scope.dispose = () => {
    ended ??= (async () => {
      await fn();
      await dispose();
    })();
    return ended;
  };
}
