import { afterEach, describe, expect, it, vi } from 'vitest';
import { Container, ContainerError } from '../src/index.js';
import { expectNoOpenScopes, openScopes, trackScopes } from '../src/tools.js';
import { gate } from './support/disposers.js';

const application = () => new Container({ tags: ['application'] });

function handleRequest(app: Container): Container {
  return app.createScope({ tags: ['request'] });
}

function complaint(app: Container): ContainerError {
  try {
    expectNoOpenScopes(app);
  } catch (error) {
    expect(error).toBeInstanceOf(ContainerError);
    return error as ContainerError;
  }
  return expect.fail('it found nothing');
}

afterEach(() => {
  trackScopes(false);
  vi.restoreAllMocks();
});

describe('openScopes', () => {
  it('lists the scopes below, the oldest first, each followed by those below it', () => {
    const app = application();
    const [first, second] = [handleRequest(app), handleRequest(app)];
    const [inFirst, inSecond] = [first.createScope(), second.createScope()];
    const deep = inSecond.createScope();
    expect(openScopes(app)).toEqual([first, inFirst, second, inSecond, deep]);
    expect(openScopes(first)).toEqual([inFirst]);
  });

  it('counts a scope as open until its last disposer is done', async () => {
    const app = application();
    const { opened, open } = gate();
    const request = handleRequest(app);
    request.defer(() => opened);
    const disposal = request.dispose();
    expect(openScopes(app)).toEqual([request]);
    open();
    await disposal;
    expect(openScopes(app)).toEqual([]);
  });
});

describe('expectNoOpenScopes', () => {
  it('is content when no scope was opened, and when all are disposed, failed disposers included', async () => {
    const app = application();
    expectNoOpenScopes(app);
    const request = handleRequest(app);
    request.defer(() => expect.fail('not now'));
    await request.dispose().catch(() => undefined);
    expectNoOpenScopes(app);
  });

  it('names the tags of what is open, and says how to learn where it was opened', () => {
    const app = application();
    handleRequest(app).createScope({ tags: ['transaction', 'audited'] });
    const { code, message, hint } = complaint(app);
    expect(code).toBe('AMBIT_UNDISPOSED');
    expect(message).toContain('2 scopes');
    expect(message).toContain('\n[application] > [request]\n');
    expect(message).toContain('[application] > [request] > [transaction, audited]');
    expect(hint).toContain('trackScopes()');
  });

  it('says where each was opened, from the caller on, after trackScopes', () => {
    const app = application();
    trackScopes();
    handleRequest(app);
    const { message, hint } = complaint(app);
    const [, where] = message.split('[request]\n');
    expect(where?.split('\n')[0]).toContain('handleRequest');
    expect(where?.split('\n')[0]).toContain('leaks.test.ts');
    expect(hint).not.toContain('trackScopes');
  });

  it('knows only the place of those that were opened while it tracked', () => {
    const app = application();
    const before = app.createScope({ tags: ['before'] });
    trackScopes();
    const during = app.createScope({ tags: ['during'] });
    trackScopes(false);
    trackScopes();
    const [, earlier = '', later = ''] = complaint(app).message.split('[application] > ');
    expect(openScopes(app)).toEqual([before, during]);
    expect(later).toContain('[during]');
    expect(earlier).toContain('[before]');
    expect(earlier).not.toContain('leaks.test.ts');
  });

  it('counts thousands without listing them all', () => {
    const app = application();
    for (let i = 0; i < 5_000; i++) handleRequest(app);
    const { message } = complaint(app);
    expect(message).toContain('5000 scopes');
    expect(message.split('\n').length).toBeLessThan(100);
  });
});
