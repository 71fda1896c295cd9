import { check } from './check.mjs';
import { graphs } from './graph.mjs';
import { visits, works } from './works.mjs';

/**
 * What a contestant's file exports as `contestant`.
 *
 * @typedef {object} Contestant
 * @property {string} title
 * @property {string} [package] its name in the registry, for the version in the report
 * @property {string} scopes how a request scope comes to its services
 * @property {'awaited' | 'sync' | 'no'} ends how it disposes what a scope created
 * @property {string[]} [cannot] works it fails at
 * @property {(services: import('./graph.mjs').Service[], work: string) => Running} setup
 *
 * @typedef {object} Running an application container with its singletons and request services registered
 * @property {() => any} open
 * @property {(scope: any, key: any) => any} get
 * @property {(scope: any) => void | Promise<void>} close
 * @property {(key: string) => any} [key] the token that stands for a key, where strings do not do
 * @property {(scope: any) => void} [visit] the work itself, where nothing is looked up by key
 */

/** Whoever cannot await a disposal has no part in the work that is about one. */
export const able = (contestant, work) =>
  !contestant.cannot?.includes(work) && (contestant.ends === 'awaited' || !works[work]?.ends);

/** Sets a contestant up for one work, checks that it does it right, and returns `n => n times that work`. */
export async function prepare(contestant, work) {
  const { graph, size, live, stays } = works[work];
  const running = contestant.setup(graphs[graph](size), work);
  await check(running, work);

  const { open, close } = running;
  const visit = visitOf(running, work);
  if (stays) return repeated(open(), visit);
  const run = contestant.ends === 'awaited' ? awaited(open, visit, close) : direct(open, visit, close);
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

/** They open among many that end, as in a server: were they the only ones, V8 would learn to allocate scopes as old. */
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
