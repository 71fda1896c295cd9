import { channel } from '#platform';
import type { Container } from './container.js';
import type { Binding } from './registration.js';
import type { Observer, Resolver } from './shape.js';

/** Of Node's channels these members: who has no types of Node compiles these declarations, too. */
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
