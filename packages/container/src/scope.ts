import { checkedTags, ContainerError, hintOf, show } from './errors.js';
import { type Injector, MetadataInjector } from './inject.js';
import type { Key } from './keys.js';
import { Plans } from './plans.js';
import { Shape, type Scope } from './shape.js';
import { ago } from './state.js';

/** What a scope is opened with. */
export interface ScopeOptions {
  /** What the scope is for, such as `request`. Predicates of registrations read the tags. */
  readonly tags?: readonly string[];
}

/** The shape of a container with no scope around it. */
export function rootShape(injectorOrOptions: Injector | ScopeOptions | null | undefined, second?: ScopeOptions): Shape {
  const first = injectorOrOptions ?? {};
  const injector = 'dependencies' in first ? first : undefined;
  const { tags = [] } = second ?? (injector ? {} : (first as ScopeOptions));
  return new Shape(undefined, checkedTags(tags), new Plans(injector ?? new MetadataInjector()), true);
}

/** Throws if the scope is disposed. */
export function refuseDisposed(scope: Scope, doing: string, key?: Key): void {
  if (!scope.closed) return;
  throw new ContainerError('AMBIT_DISPOSED', {
    key,
    about: `${doing}(${key === undefined ? '' : show(key)})`,
    tags: scope.shape.lineage,
    hint: `it was opened ${ago(scope.opened)}, and ${hintOf(key, `${doing} disposed`) ?? 'something outlived it: await all its work before dispose(), or use a scope with a longer lifetime'}`,
  });
}

/** The scopes below this one, the newest first, each followed by those below it. A loop, as scopes may nest deeper than calls. */
export function descendants<S extends Scope>(scope: S): S[] {
  const all: Scope[] = [];
  let at = scope.newest;
  while (at) {
    all.push(at);
    if (at.newest) at = at.newest;
    else {
      while (at && at !== scope && !at.older) at = at.parent;
      at = at === scope ? undefined : at?.older;
    }
  }
  // All scopes of an application are of one class.
  return all as S[];
}
