import { once } from 'node:events';
import { createServer } from 'node:net';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readFileSync } from 'node:fs';
import { compiled, fileOf, run } from './support/program.js';

/** Occupies port 3000, unless another program has it, so that the example cannot listen there. */
async function takePort3000(host?: string): Promise<AsyncDisposable> {
  const server = createServer();
  server.listen(3000, host);
  await once(server, 'listening').catch(() => undefined);
  return {
    [Symbol.asyncDispose]: async () => {
      if (server.listening) await once(server.close(), 'close');
    },
  };
}

const ended = (output: string) => ({ code: 0, signal: null, errors: '', output });

describe('simplified-express, run', () => {
  it('listens on PORT, and exits with 0 at SIGTERM', async () => {
    const program = run([fileOf('simplified-express')], { PORT: '0' });
    const port = await program.listening;
    const response = await fetch(`http://127.0.0.1:${port}/users`);
    expect(await response.json()).toEqual([]);
    program.stop();
    expect(await program.ended()).toEqual(ended(`Listening on port ${port}\nAUDIT: users_listed { count: 0 }\n`));
  });

  it('listens on 3000 where there is no PORT', async () => {
    await using _ = await takePort3000();
    const { code, errors } = await run([fileOf('simplified-express')], { PORT: undefined }).ended();
    expect(code).toBe(1);
    expect(errors).toMatch(/EADDRINUSE.*:3000$/m);
  });
});

describe('simplified-fastify, run', () => {
  it('exits with 0 at SIGTERM', async () => {
    const program = run([
      '--input-type=module',
      '--eval',
      `import { start } from '${pathToFileURL(fileOf('simplified-fastify')).href}'; await start(0);`,
    ]);
    const port = await program.listening;
    const response = await fetch(`http://localhost:${port}/users`);
    expect(await response.json()).toEqual([]);
    program.stop();
    const { output, ...end } = await program.ended();
    expect(end).toEqual({ code: 0, signal: null, errors: '' });
    expect(output).toContain('AUDIT: users_listed { count: 0 }');
  });

  it('listens on 3000', async () => {
    await using _ = await takePort3000('localhost');
    const { code, errors } = await run([fileOf('simplified-fastify')]).ended();
    expect(code).toBe(1);
    expect(errors).toMatch(/EADDRINUSE.*:3000$/m);
  });
});

describe('the examples that need no client', () => {
  it.each([
    [
      'without-decorators greets each visitor in a scope of their own',
      'without-decorators',
      'Hello Ada, you are visitor 1\nScope of Ada disposed\nHello Grace, you are visitor 2\nScope of Grace disposed\n',
    ],
    [
      'background-job stores nothing of the attempt that had a conflict',
      'background-job',
      'Attempt 1 released 2\nAttempt 2 released 2\nCommitted: 2 released\n[ { level: 9 } ]\n',
    ],
  ])('%s', async (_title, name, output) => {
    expect(await run([fileOf(name)]).ended()).toEqual(ended(output));
  });
});

const SOURCE = 'examples/transaction-check.ts';
const lines = readFileSync(new URL('../transaction-check.ts', import.meta.url), 'utf8').split('\n');

/** `examples/transaction-check.ts:42` of the line that ends with the comment. */
const at = (fault: string): string => `${SOURCE}:${lines.findIndex((line) => line.endsWith(`// fault: ${fault}`)) + 1}`;

const placesIn = (text: string): string[] => text.match(/examples\/[\w./-]+:\d+(?=:\d)/g) ?? [];

describe.each(['express', 'fastify'])('the example with all five faults, on %s', (host) => {
  it('has each of them found, with its line, its service and its route', async () => {
    const program = run(['--enable-source-maps', fileOf('transaction-check'), host]);
    const { code, output, errors } = await program.ended();
    expect([code, errors]).toEqual([0, '']);
    // On a busy machine others have a gap, too.
    const isExtra = (line: string): boolean => line.startsWith('A transaction was open') && !line.includes('/gap/');
    const findings = output.split('\n').filter((line) => line.includes('explain AMBIT_TX_CHECK]') && !isExtra(line));
    const found = findings.map((line) => [
      line.slice(0, line.indexOf(',')),
      placesIn(line.replace(/, in the transaction begun at .*/, '')),
      /\(((?:I\w+, )?POST [^)]+)\)/.exec(line)?.[1],
    ]);
    const open = 'while a transaction was open';
    expect(found).toEqual([
      [`A statement ran on the pool ${open}`, [at('outside')], 'IStock, POST /orders/outside/:id'],
      [`A second connection was asked for ${open} on the first`, [at('second')], 'POST /orders/second/:id'],
      [`An HTTP request was sent ${open}`, [at('fetch')], 'ISuppliers, POST /orders/fetch/:id'],
      [`An HTTP request was sent ${open}`, [at('http')], 'ISuppliers, POST /orders/http/:id'],
      [
        expect.stringMatching(/^A transaction was open for \d+ ms without a statement$/),
        [at('gap'), at('until')],
        'POST /orders/gap/:id',
      ],
      ['The same statement ran 11 times in one transaction', [at('repeated')], 'IOrders, POST /orders/repeated/:id'],
    ]);
    expect(output.match(/: 204$/gm)).toHaveLength(6);
  });

  it('has them found in the compiled file where Node reads no source maps', async () => {
    const { output } = await run([compiled('transaction-check'), host]).ended();
    const places = placesIn(output);
    expect(places.length).toBeGreaterThan(6);
    expect(places.filter((place) => !place.startsWith('examples/dist/transaction-check.js:'))).toEqual([]);
  });
});
