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
/** Factories that resolve as they run use the last keys only, which are made without such factories: so every circle is declared. */
export const LAST = ['E', 'F'];

const one = fc.constantFrom;
const seldom = fc.nat(30).map((n) => n === 30);

/** What one story is about: those of a few things go deeper than those of everything. */
interface Subject {
  readonly keys: readonly string[];
  readonly tags: readonly string[][];
  readonly scopes: number;
  readonly doing: readonly Command['do'][];
}

const subject: fc.Arbitrary<Subject> = fc.record({
  keys: fc.integer({ min: 2, max: KEYS.length }).map((count) => KEYS.slice(-count)),
  tags: one([['a']], [['a'], []], [['a'], ['b'], ['a', 'b'], []]),
  scopes: fc.integer({ min: 1, max: 8 }),
  doing: fc
    .subarray<Command['do']>(['resolveAll', 'add', 'override', 'undo', 'call', 'register', 'dispose'])
    .map((some) => ['open', 'resolve', ...some] as const),
});

const need = fc.record({
  nth: fc.nat(4),
  // Against the order of keys, and so perhaps in a circle.
  back: seldom,
  how: one<Need['how'][]>('one', 'one', 'one', 'one', 'all', 'later'),
});

const definition = ({ keys }: Subject): fc.Arbitrary<Definition> =>
  fc
    .record({
      key: one(...keys),
      kind: one<Definition['kind'][]>(
        'class',
        'class',
        'class',
        'factory',
        'asking',
        'handing',
        'value',
        'nothing',
        'alias',
      ),
      needs: fc.array(need, { maxLength: 3 }),
      single: fc.boolean(),
      when: one<Definition['when'][]>(undefined, undefined, undefined, 'always', 'a', 'a', 'b', 'not a'),
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
  const at = fc.oneof(fc.nat(about.scopes), one(0));
  const key = one(...about.keys);
  const definitions = fc.array(definition(about), { minLength: 1, maxLength: 2 });
  const commands: Record<Command['do'], { weight: number; arbitrary: fc.Arbitrary<Command> }> = {
    resolve: { weight: 8, arbitrary: fc.record({ do: one('resolve'), at, key }) },
    resolveAll: { weight: 3, arbitrary: fc.record({ do: one('resolveAll'), at, key }) },
    open: { weight: 5, arbitrary: fc.record({ do: one('open'), at, tags: one(...about.tags) }) },
    add: { weight: 3, arbitrary: fc.record({ do: one('add'), at, definitions }) },
    override: { weight: 1, arbitrary: fc.record({ do: one('override'), at, definitions }) },
    undo: { weight: 1, arbitrary: fc.record({ do: one('undo'), at }) },
    call: { weight: 1, arbitrary: fc.record({ do: one('call'), at }) },
    register: {
      weight: 3,
      arbitrary: fc.record({ do: one('register'), at, key, kind: one('fresh', 'same', 'asking') }),
    },
    dispose: { weight: 2, arbitrary: fc.record({ do: one('dispose'), at: fc.nat(19) }) },
  };
  return fc.oneof(...about.doing.map((doing) => commands[doing]));
}

/** From the first registrations to the end of the application. */
export const story: fc.Arbitrary<Command[]> = subject
  .chain((about) =>
    fc.tuple(
      fc.array(definition(about), { maxLength: 15, size: 'max' }),
      fc.array(command(about), { maxLength: 30, size: 'max' }),
    ),
  )
  .map(([definitions, commands]) => [{ do: 'add', at: 0, definitions }, ...commands, { do: 'dispose', at: 0 }]);
