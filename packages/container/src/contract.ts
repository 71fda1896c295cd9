import type { AbstractClass, Delivered, Keyed, KnownKey, Listed, ServiceMap } from './keys.js';

/** Makes a value. It receives the scope that resolves it; for a singleton, the scope that owns it; in `register`, the scope it was registered on. */
export type Factory<T = unknown> = (scope: IContainer) => T;

/** What host integrations need of a container. Any object with these methods will do. */
export interface IContainer {
  /** The instance bound to the key, as seen from this scope. */
  resolve<K extends KnownKey>(key: K): ServiceMap[K];
  resolve<C extends AbstractClass>(key: C): InstanceType<C>;
  resolve<T = unknown, const K extends Keyed<T> = Keyed<T>>(key: Listed<K>): T;
  /** Whether `resolve` would find the key; a container may lack this. */
  has?(key: string): boolean;
  /** A child scope. */
  createScope(options: { tags: string[] }): IContainer;
  /** Binds a key on this one scope. */
  register<const K extends string>(key: Listed<K>, factory: Factory<Delivered<K>>): unknown;
  /** Disposes the scope, its children first. */
  dispose(): Promise<void> | void;
  /** Runs `cleanup` when the scope is disposed; a container may lack this. */
  defer?(cleanup: () => unknown): unknown;
}
