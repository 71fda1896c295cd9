import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

const AMBIT = join(import.meta.dirname, '../dist/main.js');
const errors = readFileSync(join(import.meta.dirname, '../../../docs/errors.md'), 'utf8');

/** In a process of its own, on what was built, as `npx ambit` runs it. */
function ambit(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [AMBIT, ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

describe('ambit explain', () => {
  it('prints what each code of the page means, and its fix, without links that lead nowhere', () => {
    const { stdout } = ambit('explain', '--json');
    const entries = JSON.parse(stdout) as { code: string; meaning: string; fix: string }[];
    expect(entries.map(({ code }) => code)).toEqual(Array.from(errors.matchAll(/^### (.+)$/gm), ([, code]) => code));
    for (const { code, meaning, fix } of entries)
      expect([code, meaning, fix].join('\n')).toMatch(/^AMBIT_\w+\n[^]{20,}\n[^]{10,}$/);
    expect(stdout).not.toMatch(/\]\(|\*\*Fix/);
  });

  it('prints the entry of a code as text and by --json, however the message was pasted', () => {
    const { stdout, status } = ambit('explain', 'AMBIT_CYCLE');
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^AMBIT_CYCLE\n\nCircular dependency.*\n\nFix: \w/)]);
    expect(ambit('explain', '[ambit_cycle]').stdout).toBe(stdout);
    expect(ambit('explain', 'CYCLE').stdout).toBe(stdout);
    expect(JSON.parse(ambit('explain', 'AMBIT_CYCLE', '--json').stdout)).toEqual({
      code: 'AMBIT_CYCLE',
      meaning: expect.stringContaining('Circular dependency') as string,
      fix: expect.stringMatching(/\w/) as string,
    });
  });

  it('offers the code that is meant by a misspelt one', () => {
    const refused = (code: string) => ambit('explain', code);
    const line = 'There is no AMBIT_TX_FIALED. Do you mean AMBIT_TX_FAILED?\n';
    expect(refused('AMBIT_TX_FIALED')).toEqual({ status: 1, stdout: '', stderr: line });
    expect(refused('NOTHING_LIKE_IT').stderr).toContain('ambit explain lists all codes');
    expect(refused('--colour')).toMatchObject({ status: 2, stderr: expect.stringContaining('Usage: ambit explain') });
  });
});

describe('ambit', () => {
  it('lists its commands', () => {
    expect(ambit('--help')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^ {2}doctor +@ambit\/doctor +\w/m),
    });
    expect(ambit('toString')).toMatchObject({ status: 2, stderr: expect.stringContaining('Usage: ambit <command>') });
  });

  it.each(['inspect', 'doctor', 'replay'])('runs %s of the package that has it', (command) => {
    expect(ambit(command, '--help').stdout + ambit(command, '--help').stderr).toMatch(
      new RegExp(`^Usage: .*\\b${command} `),
    );
  });

  it('says which package a command needs that is not installed', () => {
    const alone = mkdtempSync(join(tmpdir(), 'ambit-'));
    onTestFinished(() => rmSync(alone, { recursive: true }));
    // A copy outside of the repository finds no other package.
    spawnSync('cp', ['-r', join(import.meta.dirname, '../dist'), join(alone, 'dist')]);
    spawnSync('cp', [join(import.meta.dirname, '../package.json'), alone]);
    const { status, stderr } = spawnSync(process.execPath, [join(alone, 'dist/main.js'), 'doctor', '.'], {
      cwd: alone,
      encoding: 'utf8',
    });
    const line = 'ambit doctor is a command of @ambit/doctor: npm install --save-dev @ambit/doctor\n';
    expect([status, stderr]).toEqual([2, line]);
  });
});
