export { Container } from './container.js';
export type { ScopeOptions } from './shape.js';
export type { Factory, IContainer } from './contract.js';
export { ContainerError, DisposeError, type ErrorCode, type Failure } from './errors.js';
export { inject, injectable, MetadataInjector, type Injector } from './inject.js';
export {
  all,
  lazy,
  optional,
  type AbstractClass,
  type All,
  type Class,
  type Delivered,
  type Dependency,
  type Key,
  type Lazy,
  type Listed,
  type Mismatch,
  type Optional,
  type ServiceMap,
  type Settings,
} from './keys.js';
export {
  allowSplit,
  decorate,
  externallyOwned,
  hasTag,
  onDispose,
  onStart,
  Registration,
  scope,
  singleton,
} from './registration.js';
export type { Binding, Declared, Modifier, Recipe, ScopePredicate, Tagged } from './registration.js';
export { currentScope, runInScope } from './contract.js';
export { lifetimes, type Lifetimes } from './lifetimes/lifetimes.js';
export type { Composition, Services } from './lifetimes/composition.js';
export type { Checked, CheckedFeature, CheckedReplacements } from './lifetimes/checked.js';
export type { Outlasting, OwnList, Requiring, ServiceOf } from './lifetimes/needs.js';
export type { Alias, AliasByLifetime, Also, Conditional, Entry, NoList, Override, Unfit } from './lifetimes/entry.js';
