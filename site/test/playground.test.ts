import { describe, expect, it } from 'vitest';
import { useSite, type Visit } from './support/site.js';

describe('the playground', () => {
  const site = useSite();
  const open = async (hash = ''): Promise<Visit> => {
    const visit = await site.open(`/playground.html${hash}`, {
      reducedMotion: 'reduce',
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await visit.page.locator('.cm-content').waitFor();
    return visit;
  };
  const choose = (visit: Visit, name: string): Promise<unknown> => visit.page.getByLabel('Example').selectOption(name);
  const type = (visit: Visit, program: string): Promise<void> => visit.page.getByLabel('Program').fill(program);
  const run = (visit: Visit): Promise<void> => visit.page.getByRole('button', { name: 'Run' }).click();
  const output = (visit: Visit): Promise<string | null> =>
    visit.page.getByRole('log', { name: 'Output' }).textContent();
  const expectOutput = async (visit: Visit, text: string): Promise<void> => {
    await expect.poll(() => output(visit), { timeout: 15_000 }).toContain(text);
  };

  it('shows a captive dependency being refused, in red in the graph', async () => {
    await using visit = await open();
    await expectOutput(visit, "Captive dependency: 'Cache'");
    await visit.page.locator('.service.wrong', { hasText: 'Cache' }).waitFor();
    expect([visit.complaints, visit.elsewhere]).toEqual([[], []]);
  });

  it('draws an arrow from the service to what it keeps, in red, with what is wrong beside it', async () => {
    await using visit = await open();
    await visit.page.locator('.callout', { hasText: "Captive dependency: 'Cache'" }).waitFor();
    const drawn = await visit.page.evaluate(() => {
      const arrow = document.querySelector<SVGPathElement>('.arrow.traced')!;
      const isAt = (length: number, service: string): boolean => {
        const { x, y } = arrow.getPointAtLength(length).matrixTransform(arrow.getScreenCTM()!);
        const { left, right, top, bottom } = document.querySelector(`[title=${service}]`)!.getBoundingClientRect();
        return x > left - 6 && x < right + 6 && y > top - 6 && y < bottom + 6;
      };
      const { stroke, fill } = getComputedStyle(arrow);
      const ends = [isAt(0, 'Cache'), isAt(arrow.getTotalLength(), 'CurrentUser')];
      return { stroke, fill, ends };
    });
    expect(drawn).toEqual({ stroke: expect.stringMatching(/^rgb\(\d/), fill: 'none', ends: [true, true] });
  });

  it('shows a scope being disposed, with its services in reverse order of creation', async () => {
    await using visit = await open();
    await choose(visit, 'A scope is disposed');
    await visit.page.getByText('The request scope is disposed').waitFor();
    expect(await visit.page.getByLabel('What happened').locator('li').allTextContents()).toEqual([
      'The request scope opens',
      'Connection is created in the request scope',
      'Users is created in the request scope',
      'Users is disposed',
      'Connection is disposed',
      'The request scope is disposed',
    ]);
    expect((await output(visit))?.trim().split('\n')).toEqual(['users flushed', 'connection closed']);
    expect(await visit.page.locator('[data-id="application > request"].open').count()).toBe(0);
  });

  it.each(['Application, request, transaction', 'A circular dependency'])('runs "%s"', async (name) => {
    await using visit = await open();
    await choose(visit, name);
    await expectOutput(visit, name.startsWith('App') ? 'one audit log for both: true' : 'Circular dependency: Orders');
    expect(visit.complaints).toEqual([]);
  });

  it('works without a connection once it is loaded', async () => {
    await using visit = await open();
    await expectOutput(visit, 'Captive dependency');
    await visit.page.context().setOffline(true);
    await type(visit, "console.log('offline', 6 * 7);");
    await run(visit);
    await expectOutput(visit, 'offline 42');
  });

  it('shares a program by its address', async () => {
    await using visit = await open();
    const program = "console.log('shared: äöü 🎉');";
    await type(visit, program);
    await visit.page.getByRole('button', { name: 'Share' }).click();
    await visit.page.getByText('is copied').waitFor();
    const shared = new URL(await visit.page.evaluate(() => navigator.clipboard.readText()));
    await using other = await open(shared.hash);
    await expectOutput(other, 'shared: äöü 🎉');
  });

  it('says what is wrong with a program, and stops one that never finishes', async () => {
    await using visit = await open();
    await type(visit, "import { fastify } from 'fastify';\nfastify();");
    await run(visit);
    await expectOutput(visit, "The playground has @ambit/container and @ambit/container/tools, not 'fastify'.");
    await type(visit, 'for (;;);');
    await run(visit);
    await expectOutput(visit, 'Stopped: it did not finish within 5 seconds.');
  });
});
