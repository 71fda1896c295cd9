import { describe, expect, it } from 'vitest';
import { Registration, singleton, type Container } from '../src/index.js';
import { heapAfterCollection } from './support/memory.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

const audit = Registration.fromFactory(() => ({})).pipe(singleton());

/** A string of so many kB of its own; joined from shorter ones it would share their memory. */
const lengthy = (i: number, kilobytes: number) => Buffer.alloc(kilobytes * 1000, `${i} `).toString();

describe('tags made from data', () => {
  it.each([
    ['one for each scope', (i: number) => [lengthy(i, 8)]],
    ['beside another', (i: number) => ['request', lengthy(i, 8)]],
  ])('leave nothing behind in the parent: 5,000 of them, %s', async (_, tagsOf) => {
    const app = openApplication(audit.pipe(perRequest).to('IAudit'), audit.to('IShared'));
    const before = await heapAfterCollection();
    for (let i = 0; i < 5000; i++) {
      await using made = app.createScope({ tags: tagsOf(i) });
      made.resolve('IShared');
    }
    const grown = (await heapAfterCollection()) - before;

    // All of them together are 40 MB; the 1,500 that the cache of shapes keeps are 12.
    expect(grown / 1e6).toBeLessThan(20);
    expect(openRequest(app).resolve('IShared')).toBe(app.resolve('IShared'));
  });

  it('do not disturb a scope that was opened before them', () => {
    const app = openApplication(audit.pipe(perRequest).to('IAudit'), audit.pipe(perRequest).to('ILater'));
    const request = openRequest(app);
    const made = request.resolve('IAudit');
    for (let i = 0; i < 1000; i++) app.createScope({ tags: ['request', `user ${i}`] }).resolve('IAudit');

    expect(request.resolve('IAudit')).toBe(made);
    expect(openTransaction(request).resolve('ILater')).toBe(request.resolve('ILater'));
    expect(openRequest(app).resolve('IAudit')).not.toBe(made);
  });
});

describe('keys made from data', () => {
  it.each<[string, (request: Container, key: string) => unknown]>([
    ['registered directly', (request, key) => request.register(key, () => 1).resolve(key)],
    ['added', (request, key) => request.addRegistration(audit.to(key)).resolve(key)],
    ['asked for without result', (request, key) => refusal(() => request.resolve(key))],
    ['asked for with resolveAll', (request, key) => request.resolveAll(key)],
  ])('leave nothing behind once their requests are disposed: 2,000 of them, %s', async (_, use) => {
    const app = openApplication();
    const before = await heapAfterCollection();
    for (let i = 0; i < 2000; i++) {
      await using request = openRequest(app);
      use(request, lengthy(i, 20));
    }
    const grown = (await heapAfterCollection()) - before;

    // All of them together are 40 MB.
    expect(grown / 1e6).toBeLessThan(20);
    expect(openRequest(app).resolveAll('none')).toEqual([]);
  });
});
