import assert from 'node:assert/strict';
import {
  Audit,
  Context,
  D0,
  D1,
  D19,
  D9,
  DisposableContext,
  LoggedAudit,
  LoggedContext,
  LoggedUsers,
  Users,
} from './classes.mjs';
import { JOB, REQUEST, TWO_TAGS } from './operations.mjs';
import { works } from './works.mjs';

/** Fails loudly when a contestant does not do right the work it is about to be timed at. */
export async function check(running, work) {
  const { checks: special } = works[work];
  await (special ? checksElsewhere[special](running) : checkMainPath(running, works[work]));
}

async function checkMainPath({ open, get, close, key = (it) => it }, { visits, disposable }) {
  const at = (scope, name) => get(scope, key(name));
  const scopes = [open(), open()];
  checks[visits](at, ...scopes);
  if (disposable) {
    const [closed, kept] = scopes.map((scope) => at(scope, 'context'));
    await close(scopes.shift());
    assert.equal(closed.disposals, 1, 'disposed once');
    assert.equal(kept.disposals, 0, 'what an open scope made stays');
  }
  for (const scope of scopes) await close(scope);
}

const checks = {
  nothing() {},

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

  five(at, first, second) {
    checks.three(at, first, second);
    assert.ok(at(first, 'd0') instanceof D0 && at(first, 'd1') instanceof D1);
    assert.equal(at(first, 'd1').previous, at(first, 'd0'), 'shared within a scope');
  },

  last(at, first, second) {
    assert.ok(at(first, 'd19') instanceof D19);
    const found = chainOf(at(first, 'd19'));
    assert.equal(found.size, 20, 'each of the chain is made once');
    chainOf(at(second, 'd19'), found);
    assert.equal(found.size, 40, 'the chain is made again in the next scope');
  },
};

/** Off the main path. */
const checksElsewhere = {
  async decorated({ open, get, close }) {
    const scope = open();
    const [users, audit, context] = ['users', 'audit', 'context'].map((name) => get(scope, name));
    assert.ok(users instanceof LoggedUsers && audit instanceof LoggedAudit && context instanceof LoggedContext);
    assert.equal(users.inner.context, context, 'who asks for it gets the wrapper');
    assert.equal(get(scope, 'context'), context, 'wrapped once in a scope');
    await close(scope);
  },

  async kinds({ app, child, get, close }) {
    const scopes = [child(app, REQUEST), child(app, JOB)];
    checks.three(get, ...scopes);
    for (const scope of scopes) await close(scope);
  },

  async twoTags({ app, child, get, close }) {
    const scopes = [child(app, TWO_TAGS), child(app, TWO_TAGS)];
    checks.three(get, ...scopes);
    for (const scope of scopes) await close(scope);
  },

  async levels({ open, transaction, get, close }) {
    const request = open();
    const scopes = [transaction(request), transaction(request)];
    const [first, second] = scopes.map((scope) => get(scope, 'users'));
    assert.notEqual(first, second, 'made again in the next transaction');
    assert.equal(first.context, get(request, 'context'), 'the context is that of the request');
    assert.equal(second.context, get(request, 'context'), 'the context is that of the request');
    assert.equal(get(scopes[0], 'context'), first.context);
    assert.equal(get(scopes[0], 'audit').context, first.context);
    for (const scope of [...scopes, request]) await close(scope);
  },

  async value({ open, value, get, close }) {
    const scopes = [open(), open()];
    scopes.forEach((scope, i) => value(scope, 'session', { id: i }));
    assert.deepEqual(
      scopes.map((scope) => get(scope, 'session').id),
      [0, 1],
      'each scope has its own value',
    );
    for (const scope of scopes) await close(scope);
  },

  async registered({ open, register, get, close }) {
    const scopes = [open(), open()];
    scopes.forEach((scope, i) => register(scope, 'session', () => ({ id: i })));
    assert.deepEqual(
      scopes.map((scope) => get(scope, 'session').id),
      [0, 1],
      'each scope has its own',
    );
    assert.notEqual(get(scopes[0], 'session'), get(scopes[0], 'session'), 'called each time');
    for (const scope of scopes) await close(scope);
  },

  async late({ open, child, register, get, close }) {
    const request = open();
    const scope = child(request, JOB);
    register(request, 'session', () => ({ id: 7 }));
    assert.equal(get(scope, 'session').id, 7, 'an open child sees it');
    await close(scope);
    await close(request);
  },

  async tagged({ app, tagged, get, close }) {
    const scopes = ['tenant0', 'tenant1'].map((tenant) => tagged(app, 'request', tenant));
    checks.three(get, ...scopes);
    for (const scope of scopes) {
      const tags = scope.tags ?? get(scope, 'tags');
      assert.equal(tags[1], `tenant${scopes.indexOf(scope)}`, 'the scope knows its tags');
      await close(scope);
    }
  },

  async fresh({ app, get, close }) {
    assert.ok(get(app, 'd9') instanceof D9);
    assert.equal(chainOf(get(app, 'd9')).size, 10);
    await close(app);
  },
};

function chainOf(service, found = new Set()) {
  if (!service || found.has(service)) return found;
  found.add(service);
  chainOf(service.previous, found);
  return chainOf(service.beforeThat, found);
}
