import 'reflect-metadata';
import { describe, expect, it } from 'vitest';
import type { Application, User } from './users.js';

/** With both containers, the pool and the repository on the other one; and after it, whichever it was. */
const programs = ['awilix', 'tsyringe', 'inversify', 'ts-ioc-container', 'inferdi', 'typed-inject', 'after'] as const;

async function startProgram(program: string): Promise<Application> {
  const { start } = (await import(new URL(`${program}.ts`, import.meta.url).href)) as {
    start: () => Promise<Application>;
  };
  return start();
}

const numbers = (log: readonly string[], text: RegExp) =>
  log.flatMap((line) => Array.from(line.matchAll(text), ([, number]) => Number(number)));

describe.each(programs)('%s', (program) => {
  it('creates and lists users, and cleans up in order', async () => {
    const app = await startProgram(program);
    await expect(app.createUser('Ada')).resolves.toEqual({ id: 1, name: 'Ada', connection: 1 } satisfies User);
    await expect(app.listUsers()).resolves.toEqual([{ id: 1, name: 'Ada', connection: 1 }]);
    await app.stop();

    expect(app.log).toEqual([
      'pool opened: postgres://localhost/shop',
      'audit written: created Ada, released 1',
      'audit written: listed, released 2',
      'pool closed: 0 connections checked out',
    ]);
  });

  it('shares no instance between requests, not even when they overlap', async () => {
    const app = await startProgram(program);
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
    const app = await startProgram(program);
    await expect(app.createUser('')).rejects.toThrow(new RangeError('A user needs a name'));
    await expect(app.createUser('Ada')).resolves.toEqual({ id: 1, name: 'Ada', connection: 2 });
    await app.stop();

    expect(app.log.filter((line) => line.startsWith('audit written'))).toHaveLength(2);
    expect(app.log.at(-1)).toBe('pool closed: 0 connections checked out');
  });

  it('opens and closes a pool of its own each time', async () => {
    for (const _time of [1, 2]) {
      const app = await startProgram(program);
      await app.createUser('Ada');
      await app.stop();
      expect(app.log.filter((line) => line.startsWith('pool'))).toHaveLength(2);
    }
  });
});
