import assert from 'node:assert/strict';
import { Audit, Context, D19, DisposableContext, Users } from './classes.mjs';
import { works } from './works.mjs';

/** Fails loudly when a contestant does not do right the work it is about to be timed at. */
export async function check({ open, get, close }, work) {
  const { visits, disposable } = works[work];
  const scopes = [open(), open()];
  checks[visits](get, ...scopes);
  if (disposable) {
    const [closed, kept] = scopes.map((scope) => get(scope, 'context'));
    await close(scopes.shift());
    assert.equal(closed.disposals, 1, 'disposed once');
    assert.equal(kept.disposals, 0, 'what an open scope made stays');
  }
  for (const scope of scopes) await close(scope);
}

const checks = {
  one(at, first, second) {
    assert.ok(at(first, 'config'));
    assert.equal(at(first, 'config'), at(second, 'config'), 'one application singleton for all scopes');
  },

  three(at, first, second) {
    const [users, audit, context] = ['users', 'audit', 'context'].map((name) => at(first, name));
    assert.ok(users instanceof Users && audit instanceof Audit);
    assert.ok(context instanceof Context || context instanceof DisposableContext);
    assert.equal(users.context, context, 'shared within a scope');
    assert.equal(audit.context, context, 'shared within a scope');
    assert.equal(at(first, 'users'), users, 'made once in a scope');
    assert.notEqual(at(second, 'users'), users, 'made again in the next scope');
    assert.notEqual(at(second, 'context'), context, 'made again in the next scope');
    assert.equal(at(second, 'users').pool, users.pool, 'one application singleton for all scopes');
    assert.equal(users.pool.config, context.config, 'one application singleton for all scopes');
  },

  last(at, first, second) {
    assert.ok(at(first, 'd19') instanceof D19);
    const found = chainOf(at(first, 'd19'));
    assert.equal(found.size, 20, 'each of the chain is made once');
    chainOf(at(second, 'd19'), found);
    assert.equal(found.size, 40, 'the chain is made again in the next scope');
  },
};

function chainOf(service, found = new Set()) {
  if (!service || found.has(service)) return found;
  found.add(service);
  chainOf(service.previous, found);
  return chainOf(service.beforeThat, found);
}
