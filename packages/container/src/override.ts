import type { Binding } from './binding.js';
import type { Container } from './container.js';
import { remove } from './registering.js';

/**
 * For tests: these registrations win over all others of their keys, in the container and below, until the result is disposed.
 * Instances made before stay as they are.
 *
 * @param container - where they win
 * @param registrations - each completed with `.to(key)`
 * @returns what `using` disposes at the end of the block
 * @throws `ContainerError` `AMBIT_BAD_REGISTRATION`: a registration has no key; `AMBIT_DISPOSED`: the container is disposed
 *
 * @example
 * ```ts
 * import { override } from '@ambit/container/tools';
 * const app = new Container().addRegistration(Registration.fromValue('real').to('IName'));
 * {
 *   using _ = override(app, Registration.fromValue('fake').to('IName'));
 *   app.resolve('IName'); // 'fake'
 * }
 * app.resolve('IName'); // 'real'
 * ```
 */
export function override(container: Container, ...registrations: readonly Binding[]): Disposable {
  const mark = Symbol('override');
  container.addRegistration(...registrations.map((binding) => ({ ...binding, override: mark })));
  return { [Symbol.dispose]: () => restore(container, mark) };
}

function restore(container: Container, mark: symbol): void {
  const bindings = [...container.shape.bindings.values()].flat();
  remove(
    container,
    bindings.filter((binding) => binding.override === mark),
  );
}
