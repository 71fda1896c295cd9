import { describe, expect, it } from 'vitest';
import { useSite } from './support/site.js';

/** What readers type, what they want, and the page that has to be the first result. */
const QUERIES: readonly [query: string, wish: string, page: string][] = [
  ['jwt', 'know who calls, from a token', '/guides/authentication.html#jwt'],
  ['current user', 'have the user in a service', '/guides/authentication.html'],
  ['testcontainers', 'test against a database in a container', '/guides/testing-with-a-database.html#testcontainers'],
  ['sandbox kysely', 'roll back after each test', '/guides/testing-with-a-database.html#a-sandbox-with-kysely'],
  ['mock', 'replace a service in a test', '/guides/typed-graph.html#replace-services-in-tests'],
  ['commonjs', 'use the packages with require()', '/guides/compilers-and-runtimes.html#commonjs-projects'],
  ['TS2307', 'get rid of the error', '/guides/compilers-and-runtimes.html#ts2307'],
  ['TS1479', 'get rid of the error', '/guides/compilers-and-runtimes.html#ts1479'],
  ['ERR_REQUIRE_ESM', 'get rid of the error', '/guides/compilers-and-runtimes.html#err_require_esm'],
  ['nestjs', 'use Ambit in an application on NestJS', '/packages/nest.html'],
  ['nestjs transaction', 'have transactions in NestJS', '/packages/nest.html'],
  ['cls', 'move from nestjs-cls', '/coming-from/transactional-decorators.html'],
  ['sequelize', 'know whether it is supported: it is not', '/guides/orms.html#not-supported'],
  ['mongodb', 'know whether it is supported: it is not', '/guides/orms.html#not-supported'],
  ['prisma', 'use it in a transaction', '/guides/orms.html#prisma'],
  ['typeorm', 'use it in a transaction', '/guides/orms.html#typeorm'],
  ['deadlock', 'know what happens, and retry', '/concepts/transactions.html#deadlock'],
  ['rollback', 'know what causes one', '/concepts/transactions.html#rollback'],
  ['transaction', 'know what one is here', '/concepts/transactions.html'],
  ['isolation level', 'choose one', '/concepts/isolation.html'],
  ['nested transaction', 'begin one inside of another', '/concepts/transactions.html#nested'],
  ['request context', 'have the data of a request everywhere in it', '/concepts/scopes.html#request-context'],
  ['AsyncLocalStorage', 'the same, without passing it along', '/concepts/scopes.html#request-context-with-async'],
  ['request-scoped', 'make a service once for each request', '/concepts/scopes.html'],
  ['Scope.REQUEST', 'the same, as NestJS calls it', '/readme.html#three-scopes'],
  ['captive dependency', 'know what it is', '/packages/container.html#captive-dependencies'],
  ['circular dependency', 'get rid of one', '/packages/container.html#circular-dependencies'],
  ['mariadb', 'connect to it', '/guides/databases.html#mysql-and-mariadb'],
  ['mysql', 'connect to it', '/guides/databases.html#mysql-and-mariadb'],
  ['galera', 'run the service on it', '/service/galera.html'],
  ['multi tenant', 'keep customers apart', '/guides/multi-tenancy.html'],
  ['stored twice', 'find why, and prevent it', '/guides/idempotency.html'],
  ['duplicate order', 'find why, and prevent it', '/guides/idempotency.html'],
  ['after commit', 'do something once it is stored', '/guides/after-commit.html'],
  ['outbox', 'publish events', '/guides/outbox.html'],
  ['graceful shutdown', 'stop without losing requests', '/guides/graceful-shutdown.html'],
  ['memory leak', 'find it', '/troubleshooting.html'],
  ['websocket', 'have a scope for each message', '/guides/scopes-without-http.html#websockets'],
  ['awilix', 'move from it', '/coming-from/containers.html#awilix'],
  ['express', 'use Ambit on it', '/packages/express.html'],
  ['fastify', 'use Ambit on it', '/packages/fastify.html'],
  ['hono', 'use Ambit on it', '/packages/hono.html'],
  ['inspector', 'see what happens', '/packages/inspector.html'],
  ['errors', 'find a code', '/errors.html'],
  ['AMBIT_DISPOSED', 'know what it means', '/errors.html#ambit_disposed'],
  ['AMBIT_TX_FAILED', 'know what it means', '/errors.html#ambit_tx_failed'],
  ['nextjs', 'use it in a route handler', '/packages/fetch.html'],
  ['cloudflare', 'use it on Workers', '/guides/workers.html'],
  ['express error handler', 'respond to errors', '/packages/express.html'],
  ['streaming response', 'know when it leaves', '/questions.html#streaming-responses'],
  ['current user in service', 'have the user in a service', '/guides/authentication.html'],
  ['roll back on 400', 'undo what a refusal wrote', '/concepts/transactions.html#rollback'],
  ['SSE', 'send events', '/questions.html#streaming-responses'],
  ['propagator', 'continue the trace of the caller', '/packages/opentelemetry.html'],
  ['license', 'know whether it may be used', '/questions.html#who-stands'],
  ['how do I leave', 'know the way out', '/questions.html#how-do-i-leave'],
  ['million rows', 'change them in chunks', '/questions.html#how-do-i-change-a-million-rows'],
  ['APM', 'see it in Datadog', '/questions.html#will-my-apm'],
  ['dataloader', 'have one for each request', '/questions.html#a-dataloader'],
  ['better auth', 'have it in the transaction', '/questions.html#better-auth'],
];

describe('the search', () => {
  const site = useSite();

  it('leads to the page about a subject on its first row', async () => {
    await using visit = await site.open('/errors.html');
    const { page } = visit;
    await page.getByRole('button', { name: 'Search' }).first().click();
    const wrong: string[] = [];
    const results = page.locator('#localsearch-list a');
    for (const [query, wish, expected] of QUERIES) {
      // Without the results of the query before.
      await page.getByRole('searchbox').fill('');
      await results.first().waitFor({ state: 'detached' });
      await page.getByRole('searchbox').fill(query);
      const address = await results
        .first()
        .getAttribute('href', { timeout: 5000 })
        .catch(() => 'nothing');
      if (query === 'APM')
        expect(await page.locator('#localsearch-list .excerpt').first().textContent()).toMatch(/\w{4}/);
      if (!address?.startsWith(expected)) wrong.push(`${query} (${wish}): ${address}, not ${expected}`);
    }
    expect(QUERIES).toHaveLength(60);
    expect(wrong.length > 3 ? wrong : []).toEqual([]);
    expect(visit.elsewhere).toEqual([]);
  });
});
