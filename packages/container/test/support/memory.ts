import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** The bytes in use after a full garbage collection. */
export async function heapAfterCollection(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    await setImmediate();
    collect();
  }
  return process.memoryUsage().heapUsed;
}
