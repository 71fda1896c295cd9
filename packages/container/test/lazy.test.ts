import { describe, expect, it } from 'vitest';
import { inject, lazy, Registration, singleton } from '../src/index.js';
import { verify } from '../src/tools.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

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

describe('lazy', () => {
  it('makes nothing before the first use, and a singleton once', () => {
    const { counts, printer } = printers();
    const app = openApplication(printer.pipe(singleton()).to('IPrinter'), reports.to('IReports'));
    const made = app.resolve<Reports>('IReports');
    expect(counts.made).toBe(0);

    expect(made.printer()).toBe(made.printer());
    expect(made.printer()).toBe(app.resolve('IPrinter'));
    expect(counts.made).toBe(1);
  });

  it('gives what is there already', () => {
    const { counts, printer } = printers();
    const app = openApplication(printer.pipe(singleton()).to('IPrinter'), reports.to('IReports'));
    const early = app.resolve('IPrinter');

    expect(app.resolve<Reports>('IReports').printer()).toBe(early);
    expect(counts.made).toBe(1);
  });

  it('gives a new one at each use of a registration without singleton', () => {
    const app = openApplication(printers().printer.to('IPrinter'), reports.pipe(singleton()).to('IReports'));
    const { printer } = app.resolve<Reports>('IReports');
    expect(printer()).not.toBe(printer());
  });

  it('works in a list of dependencies, for factories and classes', () => {
    class Plain {
      constructor(readonly printer: () => unknown) {}
    }
    const app = openApplication(
      Registration.fromValue('printed').to('IPrinter'),
      Registration.fromClass(Plain, [lazy('IPrinter')]).to('IPlain'),
      Registration.fromFactory((printer) => printer(), [lazy('IPrinter')]).to('ICalled'),
    );
    expect(app.resolve<Plain>('IPlain').printer()).toBe('printed');
    expect(app.resolve('ICalled')).toBe('printed');
  });

  it('breaks a cycle: both services reach each other, and verify agrees', () => {
    class Parent {
      constructor(@inject(lazy('IChild')) readonly child: () => Child) {}
    }
    class Child {
      constructor(@inject('IParent') readonly parent: Parent) {}
    }
    for (const first of ['IParent', 'IChild']) {
      const app = openApplication(
        Registration.fromClass(Parent).pipe(singleton()).to('IParent'),
        Registration.fromClass(Child).pipe(singleton()).to('IChild'),
      );
      expect(() => verify(app)).not.toThrow();
      app.resolve(first);

      expect(app.resolve<Parent>('IParent').child()).toBe(app.resolve('IChild'));
      expect(app.resolve<Child>('IChild').parent).toBe(app.resolve('IParent'));
    }
  });

  it('breaks a cycle through a class that is not registered, and verify agrees', () => {
    class Child {
      constructor(@inject('IParent') readonly parent: unknown) {}
    }
    class Parent {
      constructor(@inject(lazy(Child)) readonly child: () => Child) {}
    }
    const app = openApplication(Registration.fromClass(Parent).pipe(singleton()).to('IParent'));
    expect(() => verify(app)).not.toThrow();

    const parent = app.resolve<Parent>('IParent');
    expect(parent.child().parent).toBe(parent);
  });

  it('does not hide a cycle that lies behind it', () => {
    class One {
      constructor(@inject('ITwo') readonly two: unknown) {}
    }
    class Parent {
      constructor(@inject(lazy(One)) readonly one: () => One) {}
    }
    const app = openApplication(
      Registration.fromClass(Parent).to('IParent'),
      Registration.fromClass(One).to('IOne'),
      Registration.alias('IOne').to('ITwo'),
    );
    const { problems } = refusal(() => verify(app));
    expect(problems.map(({ code }) => code)).toEqual(['AMBIT_CYCLE']);
  });

  it('does not break a cycle when it is used before both services are made', () => {
    class Hasty {
      readonly child: unknown;
      constructor(@inject(lazy('IChild')) child: () => unknown) {
        this.child = child();
      }
    }
    const app = openApplication(
      Registration.fromClass(Hasty).pipe(singleton()).to('IHasty'),
      Registration.fromFactory((parent) => ({ parent }), ['IHasty'])
        .pipe(singleton())
        .to('IChild'),
    );
    expect(refusal(() => app.resolve('IHasty')).code).toBe('AMBIT_CYCLE');
    expect(refusal(() => app.resolve('IChild')).code).toBe('AMBIT_CYCLE');
  });

  it('looks where its holder is: a singleton’s in the owner, a transient’s in the scope that asked', () => {
    const app = openApplication(
      Registration.fromValue({ of: 'application' }).to('IPrinter'),
      reports.pipe(singleton()).to('IKept'),
      reports.to('INew'),
    );
    const request = openRequest(app).addRegistration(Registration.fromValue({ of: 'request' }).to('IPrinter'));

    expect(request.resolve<Reports>('IKept').printer()).toEqual({ of: 'application' });
    expect(openTransaction(request).resolve<Reports>('INew').printer()).toEqual({ of: 'request' });
  });

  it('finds what was registered directly after its holder was made', () => {
    const transaction = openTransaction(openRequest(openApplication(reports.to('IReports'))));
    const { printer } = transaction.resolve<Reports>('IReports');
    expect(refusal(printer).code).toBe('AMBIT_NOT_REGISTERED');
    transaction.register('IPrinter', () => 'printed');

    expect(printer()).toBe('printed');
  });

  it('does not let a service reach one with a shorter lifetime', () => {
    const app = openApplication(
      printers().printer.pipe(singleton(), perRequest).to('IPrinter'),
      reports.pipe(singleton()).to('IReports'),
    );
    const { printer } = openRequest(app).resolve<Reports>('IReports');

    expect(refusal(printer)).toMatchObject({ key: 'IPrinter', tags: [['application']] });
    expect(['AMBIT_OUT_OF_SCOPE', 'AMBIT_CAPTIVE_DEPENDENCY']).toContain(refusal(printer).code);
    const { problems } = refusal(() => verify(app, { tags: ['request'] }));
    expect(problems).toMatchObject([{ code: 'AMBIT_CAPTIVE_DEPENDENCY', path: ['IReports', 'IPrinter'] }]);
    expect(problems[0]?.message).toContain("'IReports'");
  });
});
