// Builds the site into site/dist: node site/build.mjs [--dev]
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const here = import.meta.dirname;
if (!existsSync(join(here, 'node_modules')))
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', here], { stdio: 'inherit' });
const { build, createServer } = await import('vitepress');
if (process.argv.includes('--dev')) {
  const server = await createServer(here);
  await server.listen();
  server.printUrls();
} else {
  await build(here);
}
