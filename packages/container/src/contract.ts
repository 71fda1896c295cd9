import type { AbstractClass, Delivered, KnownKey, ServiceMap } from './keys.js';

/** Makes a value for the scope that asks; a singleton for the scope that keeps it; given to `register`, for that scope. */
export type Factory<T = unknown> = (scope: IContainer) => T;

/** What host integrations need of a container; any object of this shape will do. */
export interface IContainer {
  /** The instance bound to the key, as seen from this scope. */
  resolve<K extends KnownKey>(key: K): ServiceMap[K];
  resolve<T = unknown>(key: string | symbol | AbstractClass<T>): T;
  /** Whether `resolve` would find the key; a container may lack this. */
  has?(key: string): boolean;
  /** A child scope. */
  createScope(options: { tags: string[] }): IContainer;
  /** Binds a key on this one scope. */
  register<const K extends string>(key: K, factory: Factory<Delivered<K>>): unknown;
  /** Ends the scope, its children first. */
  dispose(): Promise<void> | void;
  /** Runs `end` when the scope ends; a container may lack this. */
  defer?(end: () => unknown): unknown;
}
