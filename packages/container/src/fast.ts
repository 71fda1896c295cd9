/*
 * The one file written for speed. V8 learns types per function, and a function shared by all bindings would teach it that anything may be
 * called there: nothing would be inlined. So each binding gets copies of its own of the small functions below, made from their text, which
 * is 1.5 to 3 times as fast (docs/decisions/0003). A template may use nothing but its parameters and globals. Where code from text is forbidden, or has been
 * changed by a tool, the templates serve as they are.
 */
import type { Container } from './container.js';
import { instanceCreated } from './events.js';
import { announce, keep, reentered } from './keeping.js';
import type { Binding } from './registration.js';

/** Delivers a service to scopes of the shape it was compiled for. */
export type Resolver = (scope: Container) => unknown;

type Constructor = new (...needs: unknown[]) => unknown;
type Construct = (C: Constructor, ...needs: Resolver[]) => Resolver;
type Endable = Partial<Record<symbol | 'dispose', unknown>>;

const constructors = [
  (C: Constructor) => () => new C(),
  (C: Constructor, a: Resolver) => (scope: Container) => new C(a(scope)),
  (C: Constructor, a: Resolver, b: Resolver) => (scope: Container) => new C(a(scope), b(scope)),
  (C: Constructor, a: Resolver, b: Resolver, c: Resolver) => (scope: Container) => new C(a(scope), b(scope), c(scope)),
] as Construct[];

const anyConstructor: Construct =
  (C, ...needs) =>
  (scope) =>
    new C(...needs.map((need) => need(scope)));

const parents = (get: Resolver) => (scope: Container) => get(scope.parent as Container);

// In a slot: being made now; made, and the value is `undefined`, which means an empty slot otherwise.
export const BUSY = Symbol('busy');
const UNDEFINED = Symbol('undefined');
const constants = {
  busy: BUSY,
  nothing: UNDEFINED,
  created: instanceCreated,
  asyncEnd: Symbol.asyncDispose,
  end: Symbol.dispose,
  announce,
  keep,
  reentered,
};

const one = (slot: number, make: Resolver, binding: Binding, known: typeof constants) => {
  // Read once: a copy finds variables of its own faster than properties.
  const { busy, nothing, created, asyncEnd, end, announce: tell, keep: note, reentered: refuse } = known;
  const always = (binding.onDispose ?? binding.onStart) !== undefined;
  return (scope: Container) => {
    const held = scope.slots[slot];
    if (held !== undefined) {
      if (held === busy) refuse(scope, binding);
      return held === nothing ? undefined : held;
    }
    scope.slots[slot] = busy;
    const since = created.hasSubscribers ? performance.now() : undefined;
    let made;
    let ends = always;
    try {
      made = make(scope) as Endable | null | undefined;
      ends ||= (made?.[asyncEnd] ?? made?.[end] ?? made?.dispose) !== undefined;
    } catch (error) {
      scope.slots[slot] = undefined;
      throw error;
    }
    scope.slots[slot] = made === undefined ? nothing : made;
    if (ends || scope.closed) note(scope, binding, [made]);
    if (since !== undefined) tell(scope, binding, since);
    return made;
  };
};

let copies = 0;

// The number makes the text new: for a known text V8 hands out the known function, with what it has learnt.
const copied = <F extends (...args: never[]) => unknown>(template: F): F =>
  // oxlint-disable-next-line no-implied-eval, restrict-template-expressions -- the text is that of a function in this file
  new Function(`return ${template} /* ${copies++} */`)() as F;

/** A copy of the template that learns on its own, or the template itself where copies do not work. */
const own = ((): typeof copied => {
  try {
    copied(constructors[1] as Construct)(Object, () => 1)({} as Container);
    return copied;
  } catch {
    return (template) => template;
  }
})();

/** Makes a new instance each time. */
export const constructing = (target: Constructor, needs: readonly Resolver[]): Resolver =>
  own(constructors[needs.length] ?? anyConstructor)(target, ...needs);

/** Makes one instance per scope, in that slot. */
export const keeping = (slot: number, make: Resolver, binding: Binding): Resolver =>
  own(one)(slot, make, binding, constants);

/** Asks the scope above. */
export const fromParent = (get: Resolver): Resolver => own(parents)(get);
