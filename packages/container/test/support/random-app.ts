import * as fc from 'fast-check';
import {
  all,
  decorate,
  hasTag,
  lazy,
  optional,
  Registration,
  scope,
  singleton,
  type Binding,
  type Dependency,
} from '../../src/index.js';
import { asking } from './asking.js';

const KEYS = ['A', 'B', 'C', 'D', 'E', 'F'];

/** What random instances are made of: what each received, or what its decorator wrapped. */
interface Made {
  readonly got: readonly unknown[];
}

const MAKERS: ((...needs: readonly Dependency[]) => Registration<unknown>)[] = [
  asking,
  (...needs) => Registration.fromFactory((...got: unknown[]): Made => ({ got }), needs),
  (...needs) => asking(...needs).pipe(decorate((inner): Made => ({ got: [inner] }))),
];

/** What is asked for, mostly what comes later, so that cycles are rare enough to let most graphs pass. */
const need = (from: number): fc.Arbitrary<Dependency> =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...KEYS.slice(from + 1), 'Value') },
    { weight: 3, arbitrary: fc.constantFrom(...KEYS.slice(from + 1), 'Value').map((key) => all(key)) },
    { weight: 3, arbitrary: fc.constantFrom(...KEYS, 'Value').map((key) => lazy(key)) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(...KEYS.slice(from + 1), 'ISession', 'IMissing').map((key) => optional(key)),
    },
    { weight: 1, arbitrary: fc.constantFrom(...KEYS) },
    { weight: 1, arbitrary: fc.constantFrom('ISession', 'IMissing') },
  );

const making = (index: number): fc.Arbitrary<Registration<unknown>> =>
  fc.oneof(
    {
      weight: 9,
      arbitrary: fc
        .tuple(fc.array(need(index), { maxLength: 3 }), fc.constantFrom(...MAKERS))
        .map(([needs, make]) => make(...needs)),
    },
    { weight: 1, arbitrary: fc.constantFrom(...KEYS.slice(index + 1), 'Value').map((key) => Registration.alias(key)) },
  );

const binding = (key: string, index: number): fc.Arbitrary<Binding> =>
  fc
    .tuple(making(index), fc.boolean(), fc.constantFrom('', '', 'application', 'request', 'transaction'))
    .map(([registration, single, tag]) => {
      const kept = single ? registration.pipe(singleton()) : registration;
      return (tag === '' ? kept : kept.pipe(scope(hasTag(tag)))).to(key);
    });

/** Registrations of all kinds under the keys `A` to `F`, with random lifetimes, for an application that opens requests and transactions. */
export const randomRegistrations: fc.Arbitrary<Binding[]> = fc.tuple(...KEYS.map(binding));
