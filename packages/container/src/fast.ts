/*
 * V8 learns types per function, and a function shared by all bindings would teach it that anything may be called there: nothing would be
 * inlined. So bindings that are resolved often get copies of their own of the templates, made from their text, which is 1.5 to 3 times as
 * fast (docs/decisions/0003). Where code from text is forbidden, or has been changed by a tool, the templates serve as they are.
 */
import type { Binding } from './registration.js';
import type { Key } from './keys.js';
import { type Resolver, type Scope, type Shape, indexOf, NEAR } from './shape.js';

import * as templates from './templates.js';
import type { Apply, Constructor, Function_ } from './templates.js';

let copies = 0;

/** The same function once more; the function itself where that is refused, as Workers do while they serve a request. */
const copied = <F extends (...args: never[]) => unknown>(template: F): F => {
  try {
    // The number makes the text new: for a known text V8 hands out the known function, with the types it has seen.
    // oxlint-disable-next-line no-implied-eval, restrict-template-expressions -- the text is that of a function in this file
    return new Function(`return ${template} /* ${copies++} */`)() as F;
  } catch {
    return template;
  }
};

/** Makes what runs for each instance. */
export interface Templates {
  /** Makes a new instance each time. */
  constructing(target: Constructor, needs: readonly Resolver[]): Resolver;
  /** Calls the factory each time. */
  calling(call: Function_, needs: readonly Resolver[]): Resolver;
  /** Has decorators wrap each instance. */
  wrapping(inner: Resolver, wraps: readonly Function_[], binding: Binding): Resolver;
  /** Makes one instance per scope, in that slot. */
  keeping(slot: number, make: Resolver, binding: Binding): Resolver;
  /** Asks the scope so many levels above. */
  fromAbove(levels: number, get: Resolver): Resolver;
  /** Looks into the slot of the owner first. */
  existing(levels: number, slot: number, key: Key, shape: Shape, get: Resolver): Resolver;
}

const made = (own: typeof copied): Templates => ({
  constructing: (target, needs) =>
    own(templates.constructors[needs.length] ?? templates.anyConstructor)(target, ...needs),
  calling: (call, needs) => own(templates.calls[needs.length] ?? templates.anyCall)(call, ...needs),
  wrapping: (inner, wraps, binding) => own(templates.wrapped)(inner, wraps, binding, templates.constants),
  keeping: (slot, make, binding) =>
    own(templates.one)(slot, indexOf(slot), slot < NEAR, make, binding, templates.constants),
  fromAbove: (levels, get) => own(templates.above)(levels, get),
  existing: (levels, slot, key, shape, get) =>
    own(templates.kept)(levels, slot, indexOf(slot), slot < NEAR, key, shape, get, templates.constants),
});

/** Shared by all bindings: made at once, slower to run. */
export const shared = made((template) => template);

/** A copy for each binding: faster to run, and 0.1 ms to make. The shared ones where copies do not work. */
export const own = ((): Templates => {
  try {
    copied(templates.constructors[1] as Apply<Constructor>)(Object, () => 1)({} as Scope);
    return made(copied);
  } catch {
    return shared;
  }
})();
