import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { compiled, fileOf, run } from './support/program.js';

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
    const findings = output.split('\n').filter((line) => line.includes('[AMBIT_TX_CHECK') && !isExtra(line));
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
