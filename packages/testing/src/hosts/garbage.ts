import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const { Bun } = globalThis as { Bun?: { gc(synchronously: boolean): void } };
if (!Bun) setFlagsFromString('--expose-gc');
const gc = Bun ? () => Bun.gc(true) : (runInNewContext('gc') as () => void);

/** @internal Collects what nothing refers to; a WeakRef lets go only after the current turn. */
export async function collectGarbage(): Promise<void> {
  for (let i = 0; i < 3; i += 1) {
    await new Promise((resolve) => void setImmediate(resolve));
    gc();
  }
}
