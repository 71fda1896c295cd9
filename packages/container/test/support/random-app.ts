import * as fc from 'fast-check';
import { all, hasTag, scope, singleton, type Binding, type Dependency } from '../../src/index.js';
import { asking } from './asking.js';

const KEYS = ['A', 'B', 'C', 'D', 'E', 'F'];

/** What is asked for, mostly what comes later, so that circles are rare enough to let most graphs pass. */
const need = (from: number): fc.Arbitrary<Dependency> =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...KEYS.slice(from + 1), 'Value') },
    { weight: 3, arbitrary: fc.constantFrom(...KEYS.slice(from + 1), 'Value').map((key) => all(key)) },
    { weight: 1, arbitrary: fc.constantFrom(...KEYS) },
    { weight: 1, arbitrary: fc.constantFrom('IConnection', 'IMissing') },
  );

const binding = (key: string, index: number): fc.Arbitrary<Binding> =>
  fc
    .tuple(
      fc.array(need(index), { maxLength: 3 }),
      fc.boolean(),
      fc.constantFrom('', '', 'application', 'request', 'transaction'),
    )
    .map(([needs, single, tag]) => {
      const registration = asking(...needs);
      const lives = single ? registration.pipe(singleton()) : registration;
      return (tag === '' ? lives : lives.pipe(scope(hasTag(tag)))).to(key);
    });

/** Registrations of classes under the keys `A` to `F`, at random lives, for an application that opens requests and transactions. */
export const randomRegistrations: fc.Arbitrary<Binding[]> = fc.tuple(...KEYS.map(binding));
