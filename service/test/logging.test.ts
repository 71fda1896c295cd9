import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';

const LOGGER = new URL('../dist/logging/logger.js', import.meta.url).href;

test('every record is written when the call returns: not even SIGKILL loses one', async () => {
  const program = `
    import { createLogger } from '${LOGGER}';
    const logger = createLogger('info');
    for (let count = 1; count <= 100; count++) logger.info({ count });
    process.kill(process.pid, 'SIGKILL');`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program]);
  const [printed] = await Promise.all([text(child.stdout), once(child, 'close')]);
  expect(child.signalCode).toBe('SIGKILL');
  const records = printed.trimEnd().split('\n');
  expect(records.map((record) => JSON.parse(record))).toEqual(
    Array.from({ length: 100 }, (_, i) => ({ level: 30, time: expect.any(String), count: i + 1 })),
  );
});
