import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  all,
  Container,
  lazy,
  onDispose,
  Registration,
  scope,
  singleton,
  type Binding,
  type Dependency,
  type Modifier,
} from '../src/index.js';
import { override } from '../src/tools.js';
import { story, type Definition } from './support/graphs.js';
import { Reference, type Entry } from './support/reference.js';
import { ask, Side, Thing, type Workshop } from './support/sides.js';

/*
 * Random registrations, scopes and lifetimes: whatever is done to the container is done to a plain reference too, and both do the same.
 * A failure prints its seed and path, and the shortest story that fails. To replay it:
 *   FC_SEED=... FC_PATH=... npx vitest run packages/container/test/model.test.ts
 * To search for longer: FC_RUNS=100000
 */
const { FIRST_SEED = '1', FC_SEED = FIRST_SEED, FC_PATH, FC_RUNS = '1000' } = process.env;

type Accepts = (hasTag: (tag: string) => boolean) => boolean;
const predicates: Record<NonNullable<Definition['when']>, Accepts> = {
  always: () => true,
  a: (hasTag) => hasTag('a'),
  b: (hasTag) => hasTag('b'),
  'not a': (hasTag) => !hasTag('a'),
};

/** The kinds whose instances are new. */
const MAKING: readonly Definition['kind'][] = ['class', 'factory', 'asking'];

function binding(definition: Definition, workshop: Workshop): Binding {
  const { key, kind, single, when, end } = definition;
  const modifiers: Modifier<unknown>[] = [];
  if (single) modifiers.push(singleton());
  if (when) modifiers.push(scope((tagged) => predicates[when]((tag) => tagged.hasTag(tag))));
  const piped = single && end === 'onDispose' && MAKING.includes(kind);
  if (piped) modifiers.push(onDispose((thing) => (thing as Thing).end('onDispose')));
  return source(definition, workshop)
    .pipe(...modifiers)
    .to(key);
}

function source(definition: Definition, workshop: Workshop): Registration<unknown> {
  const needs = definition.needs.map(({ key, how }): Dependency =>
    how === 'one' ? key : how === 'all' ? all(key) : lazy(key),
  );
  const keys = definition.needs.map(({ key }) => key);
  class Made extends Thing {
    constructor(...made: unknown[]) {
      super(workshop, definition, ...made);
    }
  }
  const sources: Record<Definition['kind'], () => Registration<unknown>> = {
    class: () => Registration.fromClass(Made, needs),
    factory: () => Registration.fromFactory((...made) => new Made(...made), needs),
    asking: () => Registration.fromFactory((asked) => new Made(...keys.map((key) => ask(asked, key)))),
    handing: () => Registration.fromFactory((asked) => ask(asked, keys[0]!)),
    value: () => Registration.fromValue<unknown>(new Made()),
    nothing: () => Registration.fromValue<unknown>(undefined),
    alias: () => Registration.alias(keys[0]!),
  };
  return sources[definition.kind]();
}

function entry(definition: Definition, workshop: Workshop): Entry {
  const { key, kind, single, when, end, needs } = definition;
  const value = kind === 'value' ? new Thing(workshop, definition) : undefined;
  const asks = kind === 'asking' || kind === 'handing';
  return {
    key,
    single,
    isReady: kind === 'value' || kind === 'nothing',
    needs: asks || kind === 'value' || kind === 'nothing' ? [] : needs,
    accepts: (at, addedTo) => (when ? predicates[when]((tag) => at.tags.includes(tag)) : at === addedTo),
    make(made, at) {
      if (kind === 'value' || kind === 'nothing') return value;
      const got = asks ? needs.map((need) => ask(at, need.key)) : made;
      return kind === 'handing' || kind === 'alias' ? got[0] : new Thing(workshop, definition, ...got);
    },
    endOf(instance) {
      if (!(instance instanceof Thing) || instance.isGiven) return undefined;
      if (end === 'onDispose' && MAKING.includes(kind)) return () => instance.end('onDispose');
      return instance[Symbol.dispose] ?? instance.dispose;
    },
  };
}

function overrideReference(at: Reference, ...entries: readonly Entry[]): Disposable {
  const overrides = entries.map((one) => ({ ...one, rank: 'override' }) as const);
  at.override(...overrides);
  return { [Symbol.dispose]: () => at.remove(...overrides) };
}

it('the container does what the reference does', { timeout: 60_000 + Number(FC_RUNS) * 10 }, async () => {
  await fc.assert(
    fc.asyncProperty(story, async (commands) => {
      const container = new Side(new Container({ tags: ['a'] }), binding, override);
      const reference = new Side(new Reference(['a']), entry, overrideReference);
      for (const command of commands) expect(container.perform(command)).toBe(reference.perform(command));
      expect(await container.reasons()).toEqual(await reference.reasons());
    }),
    { numRuns: Number(FC_RUNS), seed: Number(FC_SEED), ...(FC_PATH && { path: FC_PATH }) },
  );
});
