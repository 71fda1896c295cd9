import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** How to start a program on other runtimes than Node: the tests install them. */
const RUNTIMES = {
  bun: { folder: 'bun-1', execArgv: ['--bun'] },
  deno: { folder: 'deno-2', execArgv: ['run', '--allow-all'] },
};

/** Gives the options of `fork()`, or undefined where the runtime is not installed. */
export function runtimeOptions(name = 'node') {
  if (name === 'node') return {};
  const { folder, execArgv } = RUNTIMES[name];
  const execPath = fileURLToPath(new URL(`../../.cache/${folder}/node_modules/.bin/${name}`, import.meta.url));
  if (existsSync(execPath)) return { execPath, execArgv };
  console.error(
    `Without ${name}: install it with 'node tools/on-node.mjs ${name} node_modules/vitest/vitest.mjs run packages/fetch/test'.`,
  );
  return undefined;
}
