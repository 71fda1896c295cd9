import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fencesIn, pagesOf, Workshop } from '../documents.mjs';

const root = join(import.meta.dirname, '../..');
const pages = await pagesOf(root);
const pagesWithCode = pages.filter((page) => page.examples.length > 0);

/** Pages that register services one by one; all others teach `lifetimes()`. The spec of the service fixes `Registration`. */
const ABOUT_REGISTRATIONS = [
  'service/README.md',
  'docs/guides/registrations.md',
  'packages/container/src/registration.ts',
];

it('registers services with `Registration` on the pages about it, and with `lifetimes()` on all others', () => {
  const registering = pages.filter(({ markdown }) =>
    fencesIn(markdown).some(({ body }) => /\bRegistration\b/.test(body)),
  );
  expect(registering.map(({ path }) => path)).toEqual(ABOUT_REGISTRATIONS);
});

describe('documentation', () => {
  let workshop: Workshop;
  beforeAll(() => {
    workshop = new Workshop(root);
    workshop.compile(pagesWithCode);
  }, 240_000);
  afterAll(() => workshop.close());

  it('fences every @example as ts, so that it is compiled', () => {
    const bare = pages.filter((page) => /@example\s+(?!\s|```ts\b)/.test(page.markdown)).map((page) => page.path);
    expect(bare).toEqual([]);
  });

  describe.each(pagesWithCode)('$path', (page) => {
    it.each(page.examples)('line $line compiles', (example) => {
      expect(workshop.complaints(page, example)).toEqual([]);
    });

    it.each(page.examples.filter((example) => example.runs))('line $line does what the page says', (example) => {
      const { status, stdout, stderr } = workshop.run(page, example);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      if (example.prints !== undefined) expect(stdout).toBe(example.prints);
    });
  });
});
