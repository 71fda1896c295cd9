import { ago } from './age.js';
import type { Container } from './container.js';
import { ContainerError, showTags } from './errors.js';

/** Where scopes were opened, while someone wants to know. */
export const tracking = { traces: undefined as WeakMap<Container, string> | undefined };

/** For tests: from now on every scope remembers where it was opened, until called with `false`. It costs a stack trace a scope. */
export function trackScopes(on = true): void {
  tracking.traces = on ? (tracking.traces ?? new WeakMap()) : undefined;
}

export function noteOpening(scope: Container): void {
  const { stack = '' } = new Error();
  // The first three lines are the message, this function and createScope.
  tracking.traces?.set(scope, stack.split('\n').slice(3).join('\n'));
}

/** The scopes below this one that have not ended, the newest first, each followed by those below it. */
export function openScopes(container: Container): Container[] {
  const open: Container[] = [];
  for (let child = container.newest; child; child = child.older) open.push(child, ...openScopes(child));
  return open;
}

/**
 * For tests: throws if a scope below the container is still open, and says how old it is and, after {@link trackScopes}, where it was opened.
 *
 * @example
 * ```ts
 * const app = new Container();
 * await app.createScope({ tags: ['request'] }).dispose();
 * expectNoOpenScopes(app);
 * ```
 */
export function expectNoOpenScopes(container: Container): void {
  const open = openScopes(container);
  if (open.length === 0) return;
  const each = open.slice(0, 10).map((scope) => `\n${showTags(scope.shape.lineage)} opened ${ago(scope.opened)}\n${tracking.traces?.get(scope) ?? ''}`);
  throw new ContainerError('AMBIT_OPEN_SCOPES', {
    about: `${open.length} ${open.length === 1 ? 'scope is' : 'scopes are'} still open${each.join('')}${open.length > 10 ? `\n... and ${open.length - 10} more` : ''}`,
    hint: tracking.traces ? 'await dispose() on every path, errors and aborts included' : 'call trackScopes() first to see where they were opened',
  });
}
