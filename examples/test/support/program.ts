import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';

const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

const removesTypes = Boolean(Reflect.get(process.features, 'typescript'));

/** The compiled file of a program. Recipes find their own packages only from `recipes/dist`. */
export const compiled = (name: string): string => {
  const path = name.startsWith('recipes/') ? name.replace('/', '/dist/') : `dist/${name}`;
  return fileURLToPath(new URL(`../../${path}.js`, import.meta.url));
};

/** The program as it is written, where Node removes the types by itself; else what the compiler made of it. */
export const fileOf = (name: string): string =>
  removesTypes ? fileURLToPath(new URL(`../../${name}.ts`, import.meta.url)) : compiled(name);

/** A process of Node, and what it prints. */
export function run(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let [output, errors] = ['', ''];
  child.stderr.on('data', (chunk: Buffer) => (errors += String(chunk)));
  const firstLine = new Promise<void>((resolve) => child.stdout.once('data', () => resolve()));
  const listening = new Promise<number>((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => {
      output += String(chunk);
      const port = /^Listening .*?(\d+)\n/m.exec(output)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
  });
  const closed = once(child, 'close');
  return {
    /** The port that it says it listens on. */
    listening,
    /** Resolves when the program prints something. */
    firstLine,
    stop: (signal: NodeJS.Signals = 'SIGTERM') => child.kill(signal),
    ended: async () => {
      const [code, signal] = (await closed) as [number | null, NodeJS.Signals | null];
      return { code, signal, output, errors };
    },
  };
}
