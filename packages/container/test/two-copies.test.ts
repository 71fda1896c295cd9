import { expect, it, vi } from 'vitest';
import { all, inject, lazy, Registration } from '../src/index.js';
import { graph, verify } from '../src/tools.js';

it('a second copy of the package in the same tree understands lazy, all and @inject of the first', async () => {
  class Report {
    constructor(
      @inject(lazy('IPrinter')) readonly printer: () => unknown,
      @inject(all('IRule')) readonly rules: unknown[],
    ) {}
  }
  vi.resetModules();
  const copy = await import('../src/index.js');
  const tools = await import('../src/tools.js');
  expect(copy.lazy).not.toBe(lazy);

  const app = new copy.Container().addRegistration(
    Registration.fromValue('printed').to('IPrinter'),
    copy.Registration.fromValue('rule').to('IRule'),
    Registration.fromClass(Report).to('IReport'),
    copy.Registration.fromFactory((printer, rules) => [printer(), rules], [lazy('IPrinter'), all('IRule')]).to('IList'),
  );
  const report = app.resolve<Report>('IReport');

  expect([report.printer(), report.rules]).toEqual(['printed', ['rule']]);
  expect(app.resolve('IList')).toEqual(['printed', ['rule']]);
  expect(() => tools.verify(app)).not.toThrow();
  expect(new Set(tools.graph(app).edges.map(({ kind }) => kind))).toEqual(new Set(['lazy', 'all']));
  expect([tools.verify, tools.graph]).not.toContain(verify);
  expect(tools.graph).not.toBe(graph);
});
