/**
 * Moves whose programs are killed, with instances that are killed and stopped meanwhile:
 * `MOVES=40 FIRST_SEED=7 npx vitest run --project programs examples/tenants/test/kills`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { canStartServers, Chance, firstSeed } from '@ambit/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compiled } from '../../test/support/program.js';
import { Customers } from './customers.js';
import { Primaries } from './primaries.js';

const MOVES = Number(process.env['MOVES'] ?? 2);
const HOSTS = ['express', 'fastify', 'express'];
const TENANTS = ['acme', 'bolt', 'crane'];
/** So many steps has a move, and a program is killed before one of them or soon after. */
const STEPS = 9;

/** A program of the example in a process of its own. */
class Program {
  /** Each line that it prints. */
  readonly lines: AsyncIterator<string>;
  readonly exited: Promise<unknown>;
  readonly #child: ChildProcess;

  constructor(name: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    const child = spawn(process.execPath, [compiled(`tenants/${name}`), ...args], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#child = child;
    this.exited = once(child, 'exit');
    this.lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.exited;
  }
}

describe.skipIf(!canStartServers)('tenants in processes that are killed', { timeout: 60_000 + 30_000 * MOVES }, () => {
  let primaries: Primaries;
  let programs: Program[];
  let urls: string[];

  const start = async (number: number): Promise<void> => {
    const env = { DIRECTORY_URL: primaries.directoryUrl, HOST: HOSTS[number], PORT: '0' };
    const program = new Program('server', [], env);
    programs[number] = program;
    const { value } = await program.lines.next();
    urls[number] = String(value).replace('Listening on ', '');
  };
  /** Kills the mover when it has printed so many steps and some milliseconds have passed. Without a kill it runs to the end. */
  const move = async (tenant: string, to: string, kill?: { step: number; ms: number }): Promise<number> => {
    const program = new Program('move-tenant', [tenant, to], { DIRECTORY_URL: primaries.directoryUrl });
    let steps = 0;
    while (steps !== kill?.step && !(await program.lines.next()).done) steps += 1;
    if (kill) {
      await pause(kill.ms);
      await program.kill();
    } else expect(await program.exited).toEqual([0, null]);
    return steps;
  };

  beforeAll(async () => {
    [programs, urls] = [[], []];
    primaries = await Primaries.start(2);
    for (const tenant of TENANTS) await primaries.create(tenant, 'p1');
    await Promise.all(HOSTS.map((_, number) => start(number)));
  }, 180_000);
  afterAll(async () => {
    await Promise.all(programs.map((program) => program.kill()));
    await primaries.stop();
  });

  it(`${MOVES} moves lose no order, whatever is killed`, async () => {
    const chance = new Chance(firstSeed);
    const customers = new Customers(TENANTS, () => urls, 6);
    await customers.placed(20);
    for (let number = 0; number < MOVES; number += 1) {
      const tenant = chance.pick(TENANTS);
      const { home } = await primaries.directory.find(tenant);
      const to = home.name === 'p1' ? 'p2' : 'p1';
      // One instance does not hear of the move: it is stopped before, and continues after it.
      const slow = chance.below(HOSTS.length);
      programs[slow]?.signal('SIGSTOP');
      for (let kills = chance.below(3); kills >= 0; kills -= 1)
        await move(tenant, to, { step: 1 + chance.below(STEPS), ms: chance.below(60) });
      const victim = (slow + 1) % HOSTS.length;
      const isKilled = chance.of(0.5);
      if (isKilled) await programs[victim]?.kill();
      await move(tenant, to);
      programs[slow]?.signal('SIGCONT');
      if (isKilled) await start(victim);
      expect((await primaries.directory.find(tenant)).home.name).toBe(to);
      await customers.placed(20);
    }
    await customers.stop();
    console.log(`${customers.count} orders, responses: ${JSON.stringify([...customers.statuses])}`);
    expect(await customers.violations(primaries)).toEqual([]);
  });
});
