import { subscribe, unsubscribe } from '#platform';
import type { Container } from './container.js';
import { ContainerError, showTags } from './errors.js';
import { scopeOpened } from './events.js';
import { ago } from './shape.js';

function note(message: unknown): void {
  const { scope } = message as { scope: Container };
  const lines = (new Error().stack ?? '').split('\n');
  const opening = lines.findIndex((line) => line.includes('createScope'));
  scope.rareState().openedBy = lines.slice(opening + 1).join('\n');
}

/** Only `unsubscribe` says whether there was a subscription. */
function isTracking(): boolean {
  const wasSubscribed = unsubscribe(scopeOpened.name, note);
  if (wasSubscribed) subscribe(scopeOpened.name, note);
  return wasSubscribed;
}

/**
 * For tests: from now on every scope remembers where it was opened. It costs a stack trace for each scope.
 *
 * @param on - `false` to stop. Default `true`
 *
 * @example
 * ```ts
 * import { openScopes, trackScopes } from '@ambit/container/tools';
 * trackScopes(); // in the set-up of the tests, before scopes are opened
 * ```
 */
export function trackScopes(on = true): void {
  unsubscribe(scopeOpened.name, note);
  if (on) subscribe(scopeOpened.name, note);
}

/**
 * Lists the scopes below this one that are not disposed, the newest first, each followed by those below it.
 *
 * @param container - the scope to look below
 * @returns the scopes; one whose disposal is in progress is still among them
 *
 * @example
 * ```ts
 * import { openScopes } from '@ambit/container/tools';
 * const app = new Container({ tags: ['application'] });
 * app.createScope({ tags: ['request'] });
 * openScopes(app).map(({ tags }) => tags); // [['request']]
 * ```
 */
export const openScopes = (container: Container): Container[] => container.descendants();

/**
 * For tests: fails if a scope below the container is still open.
 *
 * @param container - the application's container, after the test has disposed its scopes
 * @throws `ContainerError` `AMBIT_OPEN_SCOPES`: scopes are open; with the age of each and, after {@link trackScopes}, where it was opened
 *
 * @example
 * ```ts
 * import { expectNoOpenScopes } from '@ambit/container/tools';
 * const app = new Container();
 * await app.createScope({ tags: ['request'] }).dispose();
 * expectNoOpenScopes(app);
 * ```
 */
export function expectNoOpenScopes(container: Container): void {
  const open = openScopes(container);
  if (open.length === 0) return;
  const isTracked = isTracking();
  const each = open
    .slice(0, 10)
    .map(
      (scope) =>
        `\n${showTags(scope.shape.lineage)} opened ${ago(scope.opened)}\n${isTracked ? (scope.rare?.openedBy ?? '') : ''}`,
    );
  throw new ContainerError('AMBIT_OPEN_SCOPES', {
    about: `${open.length} ${open.length === 1 ? 'scope is' : 'scopes are'} still open${each.join('')}${open.length > 10 ? `\n... and ${open.length - 10} more` : ''}`,
    hint: isTracked
      ? 'await dispose() on every path, errors and aborts included'
      : 'call trackScopes() first to see where they were opened',
  });
}
