import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createServices as createRightServices } from './cradle/right/container.js';
import { createServices as createWrongServices } from './cradle/wrong/container.js';

const DOCTOR = fileURLToPath(new URL('../libraries/node_modules/@ambit/doctor/dist/main.js', import.meta.url));

/** Each line that the command prints of a program: it exits with 1 where it finds something. */
function reportsOf(program: string): string[] {
  const folder = fileURLToPath(new URL(`cradle/${program}`, import.meta.url));
  let printed: string;
  try {
    printed = execFileSync(process.execPath, [DOCTOR, folder, '--json'], { encoding: 'utf8' });
  } catch (error) {
    printed = (error as { stdout: string }).stdout;
  }
  const { reports } = JSON.parse(printed) as { reports: { file: string; line: number; rule: string }[] };
  return reports.map(({ file, line, rule }) => `${file.split('/').at(-1)}:${line} ${rule}`);
}

describe('a class that is given the whole cradle', () => {
  const payments = createServer((_req, res) => void res.end('{"charged":true}'));
  let url: string;
  beforeEach(async () => {
    await once(payments.listen(0), 'listening');
    url = `http://127.0.0.1:${(payments.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    payments.closeAllConnections();
    await once(payments.close(), 'close');
  });

  it('has no base URL', async () => {
    await expect(createWrongServices(url).cradle.payments.charge(100)).rejects.toThrow();
  });

  it('has it once it takes it out of the cradle', async () => {
    expect(await createRightServices(url).cradle.payments.charge(100)).toEqual({ charged: true });
  });

  it('is reported, and the right one is not', () => {
    expect(reportsOf('wrong')).toEqual(['container.ts:12 no-cradle-as-dependency']);
    expect(reportsOf('right')).toEqual([]);
  });
});
