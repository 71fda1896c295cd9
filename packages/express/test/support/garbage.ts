import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

/** Collects what nothing refers to; a WeakRef lets go only after the current turn. */
export async function collectGarbage(): Promise<void> {
  for (let i = 0; i < 3; i += 1) {
    await new Promise((resolve) => void setImmediate(resolve));
    gc();
  }
}
