import * as fc from 'fast-check';
import type { Need } from './reference.js';

/** A registration as plain data, of which the container and the reference each make their own. */
export interface Definition {
  readonly key: string;
  /** `asking` resolves what it needs from the scope it is given; `handing` returns that as it is. */
  readonly kind: 'class' | 'factory' | 'asking' | 'handing' | 'value' | 'nothing' | 'alias';
  readonly needs: readonly Need[];
  readonly single: boolean;
  readonly when: 'always' | 'a' | 'b' | 'not a' | undefined;
  readonly end: 'none' | 'dispose' | 'Symbol.dispose' | 'fails' | 'onDispose';
  /** Throws when it is made for the first time. */
  readonly breaks: boolean;
}

/** What is done at one of the scopes opened so far. */
export type Command =
  | { readonly do: 'add' | 'override'; readonly at: number; readonly definitions: readonly Definition[] }
  | { readonly do: 'register'; readonly at: number; readonly key: string; readonly kind: 'fresh' | 'same' | 'asking' }
  | { readonly do: 'open'; readonly at: number; readonly tags: string[] }
  | { readonly do: 'resolve' | 'resolveAll'; readonly at: number; readonly key: string }
  | { readonly do: 'dispose' | 'undo' | 'call'; readonly at: number };

const KEYS = ['A', 'B', 'C', 'D', 'E', 'F'];
/** Factories that resolve as they run use these keys only, which are made without such factories: every circular dependency is declared. */
export const LAST = ['E', 'F'];

const one = fc.constantFrom;
const seldom = fc.nat(30).map((n) => n === 30);

const KINDS: Definition['kind'][] = ['class', 'factory', 'asking', 'handing', 'value', 'nothing', 'alias'];

/** What one story is about. Stories of a few things go deeper than those of everything, and there is a story for every few. */
const subject = fc.record({
  keys: fc.integer({ min: 2, max: KEYS.length }).map((count) => KEYS.slice(-count)),
  kinds: fc.subarray(KINDS, { minLength: 1 }).map((some): Definition['kind'][] => ['class', ...some]),
  single: one([true], [true, false], [false]),
  when: fc.subarray<Definition['when']>([undefined, 'always', 'a', 'b', 'not a'], { minLength: 1 }),
  needs: fc.nat(3),
  tags: one<string[][]>([['a']], [['a'], []], [['a'], ['b'], ['a', 'b'], []]),
  scopes: fc.integer({ min: 1, max: 6 }),
  /** So many scopes of one kind are there from the beginning. */
  twins: fc.nat(3),
  often: fc.record({
    resolve: fc.integer({ min: 2, max: 8 }),
    resolveAll: fc.nat(3),
    open: fc.integer({ min: 1, max: 4 }),
    add: fc.nat(3),
    override: fc.nat(1),
    undo: fc.nat(1),
    call: fc.nat(1),
    register: fc.nat(5),
    dispose: fc.nat(3),
  }),
});

type Subject = typeof subject extends fc.Arbitrary<infer T> ? T : never;

const need = fc.record({
  nth: fc.nat(4),
  // Against the order of keys, and so perhaps in a circular dependency.
  back: seldom,
  how: one<Need['how'][]>('one', 'one', 'one', 'one', 'all', 'later'),
});

const definition = (about: Subject): fc.Arbitrary<Definition> =>
  fc
    .record({
      key: one(...about.keys),
      kind: one(...about.kinds),
      needs: fc.array(need, { maxLength: about.needs }),
      single: one(...about.single),
      when: one(...about.when),
      end: one<Definition['end'][]>('none', 'dispose', 'dispose', 'Symbol.dispose', 'fails', 'onDispose'),
      breaks: seldom,
    })
    .map(({ needs: drawn, ...rest }) => {
      const asks = rest.kind === 'asking' || rest.kind === 'handing';
      const isLast = LAST.includes(rest.key);
      const ahead = asks ? LAST : KEYS.slice(KEYS.indexOf(rest.key) + 1);
      const behind = isLast || asks ? LAST : KEYS;
      const needs = drawn.flatMap(({ nth, back, how }): Need[] => {
        const among = back ? behind : ahead;
        return among.length > 0 ? [{ key: among[nth % among.length]!, how: asks ? 'one' : how }] : [];
      });
      if ((asks || rest.kind === 'alias') && (needs.length === 0 || (asks && isLast))) {
        return { ...rest, needs, kind: 'factory' };
      }
      const few = rest.kind === 'alias' || rest.kind === 'handing';
      return { ...rest, needs: few ? needs.slice(0, 1).map((first) => ({ ...first, how: 'one' })) : needs };
    });

function command(about: Subject): fc.Arbitrary<Command> {
  const at = fc.nat(about.scopes);
  const key = one(...about.keys);
  const definitions = fc.array(definition(about), { minLength: 1, maxLength: 2 });
  const commands: { [D in Command['do']]: fc.Arbitrary<Command> } = {
    resolve: fc.record({ do: one('resolve'), at, key }),
    resolveAll: fc.record({ do: one('resolveAll'), at, key }),
    open: fc.record({ do: one('open'), at: fc.oneof(at, one(0)), tags: one(...about.tags) }),
    add: fc.record({ do: one('add'), at, definitions }),
    override: fc.record({ do: one('override'), at, definitions }),
    undo: fc.record({ do: one('undo'), at }),
    call: fc.record({ do: one('call'), at }),
    register: fc.record({ do: one('register'), at, key, kind: one('fresh', 'same', 'asking') }),
    dispose: fc.record({ do: one('dispose'), at: fc.nat(19) }),
  };
  const names = Object.keys(commands) as Command['do'][];
  return fc.oneof(...names.map((name) => ({ arbitrary: commands[name], weight: about.often[name] })));
}

/** From the first registrations to the end of the application. */
export const story: fc.Arbitrary<Command[]> = subject.chain((about) => {
  const definitions = fc.array(definition(about), { maxLength: 15, size: 'max' });
  const commands = fc.array(command(about), { maxLength: 40, size: 'max' });
  const twins = Array.from({ length: about.twins }, (): Command => ({ do: 'open', at: 0, tags: about.tags[0]! }));
  return fc
    .tuple(definitions, commands)
    .map(([first, then]) => [{ do: 'add', at: 0, definitions: first }, ...twins, ...then, { do: 'dispose', at: 0 }]);
});
