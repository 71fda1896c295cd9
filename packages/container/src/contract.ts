import type { AbstractClass, Delivered, Keyed, KnownKey, Listed, ServiceMap } from './keys.js';

/** Makes a value for the scope that asks; a singleton for the scope that keeps it; given to `register`, for that scope. */
export type Factory<T = unknown> = (scope: IContainer) => T;

/** What host integrations need of a container; any object of this shape will do. */
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
  /** Ends the scope, its children first. */
  dispose(): Promise<void> | void;
  /** Runs `end` when the scope ends; a container may lack this. */
  defer?(end: () => unknown): unknown;
}
