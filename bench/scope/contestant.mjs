import { check } from './check.mjs';
import { Filler } from './classes.mjs';
import { graphs } from './graph.mjs';
import { operations } from './operations.mjs';
import { visits, works } from './works.mjs';

/**
 * What a contestant's file exports as `contestant`.
 *
 * @typedef {object} Contestant
 * @property {string} title
 * @property {string} [package] its name in the registry, for the version in the report
 * @property {string} scopes how a request scope comes to its services
 * @property {'awaited' | 'sync' | 'no'} disposal how it disposes what a scope created
 * @property {string[]} [cannot] works it fails at
 * @property {boolean} [cliffs] takes part off the main path
 * @property {(services: import('./graph.mjs').Service[]) => void} [write] called before a cold start is measured
 * @property {(services: import('./graph.mjs').Service[], work: string) => Running} setup
 *
 * @typedef {object} Running an application container with its singletons and request services registered
 * @property {() => any} open
 * @property {(scope: any, key: any) => any} get
 * @property {(scope: any) => void | Promise<void>} close
 * @property {(key: string) => any} [key] the token that stands for a key, where strings do not do
 * @property {(scope: any) => void} [visit] the work itself, where nothing is looked up by key
 *
 * Off the main path:
 * @property {any} [app]
 * @property {(parent: any, tags: string[]) => any} [child] opens a scope of a kind that is known beforehand
 * @property {(request: any) => any} [transaction] opens a scope below a request, where they share the request's context
 * @property {(parent: any, ...tags: string[]) => any} [tagged] opens a scope with tags from data
 * @property {(scope: any, key: string, value: unknown) => void} [value] registers a value on the scope alone
 * @property {(scope: any, key: string, make: () => unknown) => void} [register] the same with a factory, called each time
 * @property {(Fake: new () => object) => { scope: any, restore: () => void }} [faked] a request that gets one as `config`
 */

/** Who cannot await a disposal takes no part in the work that is about one, nor in cliffs where it does not say so. */
export const able = (contestant, work) =>
  !contestant.cannot?.includes(work) &&
  (contestant.disposal === 'awaited' || !works[work]?.disposable) &&
  (contestant.cliffs === true || !works[work]?.cliff);

/** Sets a contestant up for one work, checks that it does it right, and returns `n => n times that work`. */
export async function prepare(contestant, work) {
  const { graph, size, live, stays, does, everything } = works[work];
  const services = graphs[graph](size);
  const again = () => contestant.setup(services, work);
  const running = again();
  const { open, get, close } = running;
  const visit = visitOf(running, work);
  if (everything) {
    const scope = open();
    for (const { key, type } of services) if (type === Filler) get(scope, key);
    await close(scope);
  }
  await check(running, work);
  if (does) return operations[does](running, visit, again);
  if (stays) return repeated(open(), visit);
  const run = contestant.disposal === 'awaited' ? awaited(open, visit, close) : direct(open, visit, close);
  const kept = await keepOpen(live, open, visit, run);
  return (n) => run(n, kept);
}

/** What the work resolves in a scope, in the contestant's own way. */
export const visitOf = ({ get, key = (it) => it, visit }, work) => visit ?? visits[works[work].visits](get, key);

const repeated = (scope, visit) => (n) => {
  for (let i = 0; i < n; i++) visit(scope);
};

const direct = (open, visit, close) => (n) => {
  for (let i = 0; i < n; i++) {
    const scope = open();
    visit(scope);
    close(scope);
  }
};

const awaited = (open, visit, close) => async (n) => {
  for (let i = 0; i < n; i++) {
    const scope = open();
    visit(scope);
    await close(scope);
  }
};

/** They open among many that are closed, as in a server: were they the only ones, V8 would learn to allocate scopes as old. */
async function keepOpen(live, open, visit, run) {
  const kept = [];
  while (kept.length < live) {
    await run(9);
    const scope = open();
    visit(scope);
    kept.push(scope);
  }
  return kept;
}
