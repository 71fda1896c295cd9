import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { examplesIn } from '../../../../tools/documents.mjs';

/** The examples of the guide that need Prisma. */
const folder = join(import.meta.dirname, '..');
const guide = readFileSync(join(folder, '../../../docs/guides/orms.md'), 'utf8');

describe.each(examplesIn(guide, { only: 'prisma' }))('docs/guides/orms.md, line $line', ({ line, code, prints }) => {
  const file = join(folder, `guide-line-${line}.ts`);
  afterEach(() => rmSync(file));

  it('does what the page says', async () => {
    writeFileSync(file, code);
    const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
    await import(file);
    const { formatWithOptions } = await import('node:util');
    expect(log.mock.calls.map((args) => `${formatWithOptions({}, ...args)}\n`).join('')).toBe(prints);
    log.mockRestore();
  });
});
