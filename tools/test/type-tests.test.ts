import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { brokenExpectations } from '../type-tests.mjs';

describe('type tests', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'type-tests-'));
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { strict: true, noEmit: true, types: [] }, files: ['lines.ts'] }),
    );
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function broken(...lines: string[]): string[] {
    writeFileSync(join(folder, 'lines.ts'), lines.join('\n'));
    return brokenExpectations(folder, 'typescript').map((line) => line.replace(/^.*lines\.ts:/, ''));
  }

  it('pass where the compiler refuses what it should, with these words', () => {
    expect(broken(`// error: not assignable to type 'number'`, `export const a: number = 'text';`)).toEqual([]);
  });

  it('fail where it refuses anything else', () => {
    expect(broken(`export const a: number = 'text';`)).toEqual([
      `1 does not compile: TS2322: Type 'string' is not assignable to type 'number'.`,
    ]);
  });

  it('name the folder that fails, also where the mistake is in a declaration outside of it', () => {
    const declaration = join(folder, '..', `${basename(folder)}.d.ts`);
    writeFileSync(declaration, 'export declare const b: Missing;');
    try {
      writeFileSync(join(folder, 'lines.ts'), `export { b } from '../${basename(folder)}.js';`);
      const [line, ...more] = brokenExpectations(folder, 'typescript');
      expect(more).toEqual([]);
      expect(line).toMatch(/^\[typescript\] (\S+): \S+\.d\.ts:1 does not compile: TS2304/);
      expect(line).toContain(` ${relative(process.cwd(), folder)}: `);
    } finally {
      rmSync(declaration);
    }
  });

  it('fail where it refuses with other words', () => {
    expect(broken(`// error: no such words`, `export const a: number = 'text';`)).toEqual([
      `2 does not compile: TS2322: Type 'string' is not assignable to type 'number'.`,
      `2 should be refused with: no such words`,
    ]);
  });

  it('fail where it accepts what it should refuse', () => {
    expect(broken(`// error: not assignable`, `// because it is text`, `export const a: number = 1;`)).toEqual([
      `3 should be refused with: not assignable`,
    ]);
  });
});

describe('the installed compilers', () => {
  it.each(['typescript-5.9', 'typescript-6.0', 'typescript'])('%s is what its name says', async (name) => {
    const { default: manifest } = await import(`${name}/package.json`, { with: { type: 'json' } });
    expect(manifest.version).toMatch(
      { 'typescript-5.9': /^5\.9\./, 'typescript-6.0': /^6\.0\./, typescript: /^7\./ }[name]!,
    );
  });

  it('leave `tsc` to the one we build with', () => {
    const modules = join(import.meta.dirname, '../../node_modules');
    expect(realpathSync(join(modules, '.bin/tsc'))).toBe(realpathSync(join(modules, 'typescript/bin/tsc')));
  });
});
