// Bundles or compiles a program, and runs the result: node bundle.mjs esbuild decorated-main.ts
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const [tool, entry] = process.argv.slice(2);
const outfile = join('out', tool, `${basename(entry, '.ts')}-${dirname(entry) === '.' ? 'app' : dirname(entry)}.mjs`);

const TOOLS = {
  async esbuild() {
    const { build } = await import('esbuild');
    await build({
      entryPoints: [entry],
      outfile,
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'node',
      target: 'es2022',
    });
  },
  async rolldown() {
    const { rolldown } = await import('rolldown');
    const bundle = await rolldown({ input: entry, platform: 'node', tsconfig: true });
    await bundle.write({ file: outfile, format: 'esm', minify: true });
  },
  // It compiles file by file.
  async babel() {
    const { transformSync } = await import('@babel/core');
    const options = JSON.parse(readFileSync('babel.json', 'utf8'));
    const { mkdirSync, cpSync } = await import('node:fs');
    mkdirSync(dirname(outfile), { recursive: true });
    cpSync('probe.js', join(dirname(outfile), 'probe.js'));
    for (const file of ['decorated.ts', entry]) {
      const { code } = transformSync(readFileSync(file, 'utf8'), { ...options, filename: file });
      writeFileSync(
        file === entry ? outfile : join(dirname(outfile), file),
        code.replace('./decorated.ts', './decorated.mjs'),
      );
    }
    const { renameSync } = await import('node:fs');
    renameSync(join(dirname(outfile), 'decorated.ts'), join(dirname(outfile), 'decorated.mjs'));
  },
};

await TOOLS[tool]();
const { status } = spawnSync(process.execPath, [outfile], { stdio: 'inherit' });
process.exitCode = status ?? 1;
