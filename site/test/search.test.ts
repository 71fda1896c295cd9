import { describe, expect, it } from 'vitest';
import { useSite } from './support/site.js';

/** What readers type, and which page must be the first result. */
const QUERIES: readonly [query: string, page: RegExp][] = [
  ['circular dependency', /circular|lifetimes/],
  ['captive dependency', /captive|lifetimes/],
  ['graceful shutdown', /graceful-shutdown/],
  ['request-scoped', /scopes|lifetimes/],
  ['after commit', /after-commit/],
  ['awilix', /coming-from\/awilix/],
  ['commonjs', /compilers-and-runtimes/],
  ['TS2307', /compilers-and-runtimes/],
  ['TS1479', /compilers-and-runtimes/],
  ['ERR_REQUIRE_ESM', /compilers-and-runtimes/],
  ['Scope.REQUEST', /three-scopes|lifetimes|nestjs/],
  ['jwt', /guides\/authentication/],
  ['testcontainers', /guides\/testing-with-a-database/],
  ['sandbox kysely', /guides\/(testing-with-a-database|orms)/],
  ['nestjs', /coming-from\/nestjs/],
  ['commonjs', /guides\/compilers-and-runtimes/],
  ['mock', /typed-graph|testing/],
];

describe('the search', () => {
  const site = useSite();

  it.each(QUERIES)('for "%s" leads to the page about it on its first row', async (query, expected) => {
    await using visit = await site.open('/');
    const { page } = visit;
    await page.getByRole('button', { name: 'Search' }).first().click();
    await page.getByRole('searchbox').fill(query);
    const first = page.locator('#localsearch-list a').first();
    await first.waitFor();
    expect(await first.getAttribute('href')).toMatch(expected);
    expect(visit.elsewhere).toEqual([]);
  });
});
