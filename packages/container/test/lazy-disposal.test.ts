import { describe, expect, it } from 'vitest';
import { Container, inject, lazy, Registration, singleton } from '../src/index.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

class Reports {
  constructor(@inject(lazy('IPrinter')) readonly printer: () => object) {}
}
const reports = Registration.fromClass(Reports);

/** Counts the printers it makes and the disposals of each. */
function printers() {
  const counts = { made: 0, disposed: 0 };
  const make = () => {
    counts.made++;
    return { dispose: () => counts.disposed++ };
  };
  return { counts, printer: Registration.fromFactory(make) };
}

describe('the disposal of a scope', () => {
  it('does not make what a lazy never asked for', async () => {
    const { counts, printer } = printers();
    const app = openApplication(printer.pipe(singleton()).to('IPrinter'), reports.pipe(singleton()).to('IReports'));
    app.resolve('IReports');
    await app.dispose();

    expect(counts).toEqual({ made: 0, disposed: 0 });
  });

  it('disposes what a lazy made, once, and before its holder when it was made after it', async () => {
    const disposed: string[] = [];
    class Holder {
      constructor(@inject(lazy('IPrinter')) readonly printer: () => unknown) {}
      dispose() {
        disposed.push('holder');
      }
    }
    const printer = Registration.fromFactory(() => ({ dispose: () => disposed.push('printer') })).pipe(singleton());
    const app = new Container().addRegistration(
      printer.to('IPrinter'),
      Registration.fromClass(Holder).pipe(singleton()).to('IHolder'),
    );
    const holder = app.resolve<Holder>('IHolder');
    holder.printer();
    holder.printer();
    await app.dispose();

    expect(disposed).toEqual(['printer', 'holder']);
  });

  it('makes the first use of a lazy the "disposed" error', async () => {
    const { counts, printer } = printers();
    const app = openApplication(printer.pipe(singleton(), perRequest).to('IPrinter'), reports.to('IReports'));
    const request = openRequest(app);
    const made = request.resolve<Reports>('IReports');
    const disposal = request.dispose();

    expect(refusal(made.printer).code).toBe('AMBIT_DISPOSED');
    await disposal;
    expect(refusal(made.printer).code).toBe('AMBIT_DISPOSED');
    expect(counts.made).toBe(0);
  });
});
