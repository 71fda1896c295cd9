/** Works that are done once in a fresh process: what a cold start costs, and what memory is left behind. */
import assert from 'node:assert/strict';
import { Config } from './classes.mjs';
import { cpu, heap } from './clock.mjs';
import { graphs } from './graph.mjs';
import { visitOf } from './contestant.mjs';
import { use } from './use.mjs';
import { works } from './works.mjs';

const REQUESTS = 10_000;
/** V8 goes on optimizing in the background for a while, which is CPU time too. */
const WARM_REQUESTS = 2000;
const WARM_ROUNDS = 20;
const TENANTS = 200;
const HALF = 8000;
const OVERRIDES = 10_000;

class FakeConfig {}

/** Gives the measures of the work, or throws where the contestant does not do it right. */
export function measureOnce(contestant, work) {
  const { graph, size, once } = works[work];
  const services = graphs[graph](size);
  contestant.write?.(services);
  return onces[once]({ services, size, work, setup: () => contestant.setup(services, work) });
}

async function timed(work) {
  const before = cpu();
  await work();
  return cpu() - before;
}

/** @type {Record<string, (given: { services: import('./graph.mjs').Service[], size: number, work: string, setup: () => import('./contestant.mjs').Running }) => Promise<Record<string, number>>>} */
export const onces = {
  async fresh({ setup }) {
    const ms = await timed(async () => {
      const { app, get, close } = setup();
      use(get(app, 'd9'));
      await close(app);
    });
    return { ms };
  },

  async cold({ services, setup }) {
    const before = await heap();
    let running, scope;
    const ms = await timed(() => {
      running = setup();
      const { app, open, get, visit } = running;
      scope = open();
      if (visit) visit(scope);
      else for (const { key, lifetime } of services) use(get(lifetime === 'app' ? app : scope, key));
    });
    const MB = (await heap()) - before;
    assertMade(services, (key, lifetime) => running.get(lifetime === 'app' ? running.app : scope, key));
    return { ms, MB };
  },

  async wide({ services, setup }) {
    const { open, get, close, visit = (scope) => use(get(scope, 's0')) } = setup();
    const requests = async (n) => {
      for (let i = 0; i < n; i++) {
        const scope = open();
        visit(scope);
        await close(scope);
      }
    };
    const ms = await timed(() => requests(REQUESTS));
    let warm = Infinity;
    for (let i = 0; i < WARM_ROUNDS; i++) warm = Math.min(warm, await timed(() => requests(WARM_REQUESTS)));
    const scope = open();
    assertMade(services, (key) => get(scope, key));
    return { ms, 'µs warm': (warm / WARM_REQUESTS) * 1000 };
  },

  async keys({ setup, size }) {
    const { open, register, get, close } = setup();
    const visit = async (n) => {
      const scope = open();
      for (let i = 0; i < n; i++) register(scope, `key${i}`, () => ({ i }));
      for (let i = 0; i < n; i++) use(get(scope, `key${i}`));
      assert.equal(get(scope, `key${n - 1}`).i, n - 1);
      await close(scope);
    };
    await visit(1);
    use(undefined);
    const before = await heap();
    const ms = await timed(() => visit(size));
    use(undefined);
    return { ms, MB: (await heap()) - before };
  },

  async tags({ setup, work }) {
    const running = setup();
    const { app, tagged, get, close } = running;
    const visit = visitOf(running, work);
    const requests = async (from, to) => {
      for (let i = from; i < to; i++) {
        const tenant = tagged(app, `tenant${i % TENANTS}`);
        const user = tagged(tenant, 'request', `user${Math.floor(i / TENANTS) % TENANTS}`);
        visit(user);
        await close(user);
        await close(tenant);
      }
    };
    await requests(0, 1);
    const before = await heap();
    let ms = await timed(() => requests(0, HALF));
    const between = await heap();
    ms += await timed(() => requests(HALF, 2 * HALF));
    const after = await heap();
    const scope = tagged(tagged(app, 'tenant0'), 'request', 'user0');
    assert.equal(get(scope, 'users').context, get(scope, 'context'));
    assert.ok(get(scope, 'context').config instanceof Config);
    return { ms, MB: after - before, 'MB late': after - between };
  },

  async override({ setup, work }) {
    const running = setup();
    const { open, get, faked, close } = running;
    const visit = visitOf(running, work);
    const fakes = async (n) => {
      for (let i = 0; i < n; i++) {
        const { scope, restore } = faked(FakeConfig);
        visit(scope);
        if (!(get(scope, 'context').config instanceof FakeConfig)) assert.fail('the request did not get the fake');
        await close(scope);
        restore();
      }
    };
    await fakes(1);
    const before = await heap();
    const ms = await timed(() => fakes(OVERRIDES));
    const MB = (await heap()) - before;
    const scope = open();
    assert.ok(get(scope, 'context').config instanceof Config, 'restored');
    return { µs: (ms / OVERRIDES) * 1000, MB };
  },
};

/** Each service is there, of its class, and has what it depends on. */
function assertMade(services, get) {
  for (const { key, type, deps, lifetime } of services) {
    const made = get(key, lifetime);
    assert.ok(made instanceof type, `${key} is made`);
    for (const dep of deps)
      assert.equal(made[dep], get(dep, services.find((it) => it.key === dep).lifetime), `${key} has ${dep}`);
  }
}
