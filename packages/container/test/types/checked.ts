// Does each entry fit the graph, and the entries of the features before it?
import type { Services } from '@ambit/container';
import { app, build, Context, infra, make, of, Pool, Users, value } from './needs.js';
import { exactly } from './services.js';

// A key that features share is an error, unless they say how.
class Clock {
  now() {
    return 0;
  }
}
class FixedClock extends Clock {}
const clocks = { IClock: of('application', Clock), rule: make('application', () => 'first') };
export const features = build(
  infra,
  clocks,
  { IClock: of('application', FixedClock).override(), rule: make('request', () => 'second').also() },
  { IUser: make('transaction', (clock: Clock, pool: Pool) => ({ clock, pool }), ['IClock', 'IPool']) },
);
// error: an earlier feature registers 'IClock': say .override() to replace it, or .also() to add to it
build(clocks, { IClock: of('application', Clock) });
// Several are replaced by several of the same lifetimes.
const units = { unit: [make('request', () => 1), make('transaction', () => 2)] };
build(units, { unit: [make('request', () => 3).override(), make('transaction', () => 4).override()] });
build(units, { unit: make(['request', 'transaction'], () => 3).override() });
build(
  { unit: make(['request', 'transaction'], () => 1) },
  { unit: [make('request', () => 3).override(), make('transaction', () => 4).override()] },
  { IUnit: make('request', (unit: number) => unit, ['unit']) },
);
// error: 'unit' is request-scoped: what replaces it must be so, too
build(units, { unit: [make('transaction', () => 3).override(), make('transaction', () => 4).override()] });
// error: 'unknown' is not registered by an earlier feature
build(clocks, { unknown: of('application', Clock).override() });
// error: it does not fit 'IClock'
build(clocks, { IClock: make('application', () => 5).override() });
// error: 'nope' is not registered
build(clocks, { IClock: make('application', (_: number) => new Clock(), ['nope']).override() });
declare const ofFeatures: Services<typeof features>;
exactly<{ clock: Clock; pool: Pool }>()(ofFeatures.IUser)(true);
exactly<Clock>()(ofFeatures.IClock)(true);

app.replacing({ IPool: value(new Pool('test')), IUsers: of('request', Users, ['IPool']) });
// error: it does not fit 'IPool'
app.replacing({ IPool: value('test') });
// error: 'nope' is not registered
app.replacing({ nope: value('test') });
// error: captive dependency: 'IContext' is request-scoped
app.replacing({ IPool: make('application', (_: Context) => new Pool(''), ['IContext']) });
