import { channel, subscribe, unsubscribe } from '#platform';
import type { Container } from './container.js';
import { ContainerError, showTags } from './errors.js';
import type { Binding } from './registration.js';
import type { Observer, Resolver } from './shape.js';

/** The members of Node's channels that are used: these declarations compile without the types of Node. */
interface Channel {
  readonly name: string | symbol;
  readonly hasSubscribers: boolean;
  publish(message: unknown): void;
}

/** `{ scope }`, after a child scope was opened. */
export const scopeOpened: Channel = /* @__PURE__ */ channel('ambit:scope:opened');
/** `{ scope }`, after a scope and all below it were disposed. */
export const scopeClosed: Channel = /* @__PURE__ */ channel('ambit:scope:closed');
/** `{ scope, key, milliseconds }`, after a scope made an instance that it keeps. */
export const instanceCreated: Channel = /* @__PURE__ */ channel('ambit:instance:created');
/** `{ scope, key, error? }`, after an instance was disposed. */
export const instanceDisposed: Channel = /* @__PURE__ */ channel('ambit:instance:disposed');
/** `{ scope, error }`, after the work of `inScope()` threw, before its scope is disposed. */
export const workFailed: Channel = /* @__PURE__ */ channel('ambit:work:failed');
/** `{ scope, key, milliseconds }`, after a transient service was made. */
const transientCreated = /* @__PURE__ */ channel('ambit:transient:created');
/** `{ scope, key, error }`, after a constructor, factory or decorator threw, or a key could not be resolved. */
const creationFailed = /* @__PURE__ */ channel('ambit:creation:failed');

/**
 * Has an application publish also what is left out otherwise, because it would cost time: transient services that are made, on the channel
 * `ambit:transient:created`, and what fails to be made, on `ambit:creation:failed`. Call it before the first `resolve`: what was resolved
 * before is not observed. While nobody subscribes to these channels, it costs a comparison for each new instance.
 *
 * @param container - the application's container
 * @throws `ContainerError` `AMBIT_DISPOSED`: the container is disposed
 *
 * @example
 * ```ts
 * import { subscribe } from 'node:diagnostics_channel';
 * import { observeCreations } from '@ambit/container/tools';
 *
 * const app = new Container({ tags: ['application'] });
 * observeCreations(app);
 * subscribe('ambit:creation:failed', (message) => console.warn('Not created:', message));
 * ```
 */
export function observeCreations(container: Container): void {
  container.refuseDisposed('observeCreations');
  container.shape.plans.observer = observer;
}

const observer: Observer = {
  making: (make, binding) => (isMade(binding) ? observed(make, binding) : make),
  refused: (scope, key, error) => creationFailed.publish({ scope, key, error }),
};

function isMade({ source: { kind } }: Binding): boolean {
  return kind === 'class' || kind === 'factory';
}

function observed(make: Resolver, { key, singleton }: Binding): Resolver {
  return (scope) => {
    const isWatched = creationFailed.hasSubscribers || transientCreated.hasSubscribers;
    if (!isWatched) return make(scope);
    const start = performance.now();
    try {
      const made = make(scope);
      // `ambit:instance:created` says it of a singleton.
      if (!singleton) transientCreated.publish({ scope, key, milliseconds: performance.now() - start });
      return made;
    } catch (error) {
      creationFailed.publish({ scope, key, error });
      throw error;
    }
  };
}

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
 * Lists the scopes below this one that are not disposed, the oldest first, each followed by those below it.
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
export const openScopes = (container: Container): Container[] => container.tree().slice(1);

/**
 * For tests: fails if a scope below the container is still open.
 *
 * @param container - the application's container, after the test has disposed its scopes
 * @throws `ContainerError` `AMBIT_UNDISPOSED`: scopes are open; after {@link trackScopes}, with where each was opened
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
    .map((scope) => `\n${showTags(scope.shape.lineage)}${isTracked ? `\n${scope.rare?.openedBy ?? ''}` : ''}`);
  throw new ContainerError('AMBIT_UNDISPOSED', {
    about: `${open.length} ${open.length === 1 ? 'scope is' : 'scopes are'} still open${each.join('')}${open.length > 10 ? `\n... and ${open.length - 10} more` : ''}`,
    hint: isTracked
      ? 'await dispose() on every path, errors and aborts included'
      : 'call trackScopes() first to see where they were opened',
  });
}
