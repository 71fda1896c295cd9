import 'reflect-metadata';
import { describe, expect, it } from 'vitest';
import type { Application, User } from './users.js';

const libraries = ['awilix', 'tsyringe', 'inversify', 'nestjs', 'ts-ioc-container', 'inferdi', 'typed-inject'] as const;
const stages = ['before', 'together', 'after'] as const;

/** Alone, these dispose a request's audit trail before, or at the same time as, the repository that depends on it. */
const disposeDependenciesFirst: readonly string[] = ['awilix', 'tsyringe', 'inversify'];

const cases = libraries.flatMap((library) => stages.map((stage) => ({ library, stage })));

async function startStage(library: string, stage: string): Promise<Application> {
  const isShared = stage === 'after' && library !== 'typed-inject';
  const program = isShared ? './after.ts' : `./${library}/${stage}.ts`;
  const { start } = (await import(program)) as { start: () => Promise<Application> };
  return start();
}

const numbers = (log: readonly string[], text: RegExp) =>
  log.flatMap((line) => Array.from(line.matchAll(text), ([, number]) => Number(number)));

describe.each(cases)('$library, $stage', ({ library, stage }) => {
  it('creates and lists users, and cleans up in order', async () => {
    const app = await startStage(library, stage);
    await expect(app.createUser('Ada')).resolves.toEqual({ id: 1, name: 'Ada', connection: 1 } satisfies User);
    await expect(app.listUsers()).resolves.toEqual([{ id: 1, name: 'Ada', connection: 1 }]);
    await app.stop();

    const isReversed = stage !== 'before' || !disposeDependenciesFirst.includes(library);
    expect(app.log).toEqual([
      'pool opened: postgres://localhost/shop',
      `audit written: created Ada${isReversed ? ', released 1' : ''}`,
      `audit written: listed${isReversed ? ', released 2' : ''}`,
      'pool closed: 0 connections checked out',
    ]);
  });

  it('shares no instance between requests, not even when they overlap', async () => {
    const app = await startStage(library, stage);
    const users = await Promise.all(['Ada', 'Grace', 'Edsger'].map((name) => app.createUser(name)));
    expect(new Set(users.map(({ connection }) => connection))).toEqual(new Set([1, 2, 3]));
    await expect(app.listUsers()).resolves.toEqual(users);
    await app.stop();

    expect(app.log).toHaveLength(6);
    expect(app.log.at(-1)).toBe('pool closed: 0 connections checked out');
    for (const { name } of users) {
      expect(app.log.filter((line) => line.startsWith(`audit written: created ${name}`))).toHaveLength(1);
    }
    const released = numbers(app.log, /released (\d+)/g);
    expect(new Set(released).size).toBe(released.length);
  });

  it('cleans up a request that fails, and serves the next', async () => {
    const app = await startStage(library, stage);
    await expect(app.createUser('')).rejects.toThrow(new RangeError('A user needs a name'));
    await expect(app.createUser('Ada')).resolves.toEqual({ id: 1, name: 'Ada', connection: 2 });
    await app.stop();

    expect(app.log.filter((line) => line.startsWith('audit written'))).toHaveLength(2);
    expect(app.log.at(-1)).toBe('pool closed: 0 connections checked out');
  });

  it('opens and closes a pool of its own each time', async () => {
    for (const _time of [1, 2]) {
      const app = await startStage(library, stage);
      await app.createUser('Ada');
      await app.stop();
      expect(app.log.filter((line) => line.startsWith('pool'))).toHaveLength(2);
    }
  });
});
