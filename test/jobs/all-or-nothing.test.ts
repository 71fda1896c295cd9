import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const program = join(import.meta.dirname, 'all-or-nothing.mjs');

function play(...options: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [program, ...options], { encoding: 'utf8' });
}

// The program itself plays 200 rounds.
describe('an order that TypeORM, Kysely and pg-boss write in one transaction', () => {
  it('is stored wholly or not at all, wherever the server or its backend is killed', { timeout: 120_000 }, () => {
    const { status, stdout, stderr } = play('--rounds', '7');
    expect(stderr).toBe('');
    expect(stdout).toContain('7 rounds, 0 wrong');
    expect(status).toBe(0);
  });

  it('is torn where the queue has a connection of its own, which the program notices', { timeout: 120_000 }, () => {
    const { status, stdout } = play('--rounds', '12', '--queue-outside');
    expect(stdout).toMatch(/WRONG {2}.*stored the job of pg-boss, not the order of TypeORM/);
    expect(status).toBe(1);
  });
});
