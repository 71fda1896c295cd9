import { describe, expect, it } from 'vitest';
import { Container, MetadataInjector, optional, Registration, type Dependency } from '../src/index.js';
import { verify } from '../src/tools.js';
import { refusal } from './support/refusal.js';

class Service {
  readonly got: readonly unknown[];
  constructor(...got: readonly unknown[]) {
    this.got = got;
  }
}

/** So many services, each a class of its own that asks for what `needsOf` says, and how often verify has looked at what classes need. */
function application(
  count: number,
  needsOf: (i: number) => readonly Dependency[],
): { app: Container; looks(): number } {
  let looked = 0;
  const needs = new Map<unknown, readonly Dependency[]>();
  class Counting extends MetadataInjector {
    override dependencies(target: typeof Service): readonly Dependency[] {
      looked++;
      return needs.get(target) ?? [];
    }
  }
  const app = new Container(new Counting(), { tags: ['application'] });
  for (let i = 0; i < count; i++) {
    const target = class extends Service {};
    needs.set(target, needsOf(i));
    app.addRegistration(Registration.fromClass(target).to(`service ${i}`));
  }
  return { app, looks: () => looked };
}

const before = (i: number): string[] => (i > 0 ? [`service ${Math.floor((i - 1) / 2)}`] : []);

describe('the cost of verify grows with the number of services, not with its square', () => {
  it.each<[string, (i: number) => readonly Dependency[], number]>([
    ['where one key that all need is missing', (i) => [...before(i), 'ILogger'], 1],
    ['where each needs the one before, and the first needs what is missing', (i) => [`service ${i - 1}`], 1],
    ['where each needs a key of its own that is missing', (i) => [...before(i), `missing ${i}`], 1],
    ['where nothing is missing', before, 0],
    ['where one key that all may do without is missing', (i) => [...before(i), optional('ICache')], 0],
  ])('%s', (_, needsOf, atLeast) => {
    const [few, more, many] = [250, 500, 1000].map((count) => {
      const { app, looks } = application(count, needsOf);
      const request = { tags: ['request'] };
      const problems = atLeast ? refusal(() => verify(app, request)).problems : verify(app, request);
      expect(problems?.length ?? 0).toBeGreaterThanOrEqual(atLeast);
      return looks();
    }) as [number, number, number];

    expect(more / few).toBeLessThan(2.2);
    expect(many / more).toBeLessThan(2.2);
    // In each of the two scopes once.
    expect(many).toBeLessThanOrEqual(1000 * 2);
  });
});
