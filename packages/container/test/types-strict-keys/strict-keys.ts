import { all, Container, inject, lazy, optional, Registration, type IContainer } from '@ambit/container';

interface Logger {
  info(line: string): void;
}

declare module '@ambit/container' {
  interface ServiceMap {
    ILogger: Logger;
    ILevel: 'info' | 'warn';
  }
  interface Settings {
    strictKeys: true;
  }
}

class Clock {
  now = () => new Date();
}
class Page<T> {
  constructor(readonly items: T[]) {}
}
const HIDDEN = Symbol('hidden');
const app = new Container();
const contract: IContainer = app;
const logger = Registration.fromValue<Logger>({ info: () => {} });

// Listed strings, symbols and classes are keys.
app.resolve('ILogger').info('typed');
app.resolve<Logger>('ILogger').info('typed');
app.resolve(Clock);
app.resolve(Page);
app.resolve<Date>(HIDDEN).getTime();
app.resolveAll('ILogger')[0]?.info('typed');
app
  .register('ILogger', () => ({ info: () => {} }))
  .register(HIDDEN, () => 1)
  .register(Clock, () => new Clock());
app.addRegistration(logger.to('ILogger'), logger.to(HIDDEN), Registration.fromClass(Clock).to(Clock));
app.addRegistration(Registration.alias('ILogger').to(HIDDEN), Registration.alias<Logger>(HIDDEN).to('ILogger'));
contract.resolve('ILogger').info('typed');
contract.resolve<Date>(HIDDEN).getTime();
contract.resolve(Clock);
contract.register('ILogger', () => ({ info: () => {} }));
Registration.fromFactory((one, two) => [one.info, two], ['ILogger', HIDDEN]);
Registration.fromFactory(
  (one, two, three) => [one(), two.length, three?.info],
  [lazy('ILogger'), all(Clock), optional('ILogger')],
);

class Users {
  constructor(
    @inject('ILogger') readonly logger: Logger,
    @inject(HIDDEN) readonly clock: Clock,
    @inject(lazy('ILogger')) readonly later: () => Logger,
    @inject(optional(Clock)) readonly maybe?: Clock,
  ) {}
}
Registration.fromClass(Users, ['ILogger', HIDDEN, lazy('ILogger')]);

// A string that is not listed is refused, by name.
// error: 'ILoger' is not a key of ServiceMap
// error: is not assignable to type 'Date'
const date: Date = app.resolve('ILoger');
// error: "ILoger"' is not assignable to
app.resolve<Logger>('ILoger');
// error: Argument of type 'string' is not assignable to
app.resolve('ILogger' as string);
// error: 'ILoger' is not a key of ServiceMap
app.resolveAll('ILoger');
// error: 'ILoger' is not a key of ServiceMap
app.register('ILoger', () => 1);
// error: 'ILoger' is not a key of ServiceMap
logger.to('ILoger');
// error: 'ILoger' is not a key of ServiceMap
Registration.alias('ILoger');
// error: 'ILoger' is not a key of ServiceMap
lazy('ILoger');
// error: 'ILoger' is not a key of ServiceMap
all('ILoger');
// error: 'ILoger' is not a key of ServiceMap
optional('ILoger');
// error: 'ILoger' is not a key of ServiceMap
contract.resolve('ILoger');
// error: 'ILoger' is not a key of ServiceMap
contract.register('ILoger', () => 1);
// error: 'ILoger' is not a key of ServiceMap
Registration.fromFactory((one) => one, ['ILoger']);
// error: 'IClok' is not a key of ServiceMap
Registration.fromClass(Users, ['ILogger', 'IClok', lazy('ILogger')]);
// error: 'ILevel' does not fit parameter 0
Registration.fromClass(Users, ['ILevel', HIDDEN, lazy('ILogger')]);

class Wrong {
  constructor(
    // error: 'ILoger' is not a key of ServiceMap
    @inject('ILoger') readonly logger: Logger,
    // error: 'ILevel' does not fit parameter 1
    @inject('ILevel') readonly clock: Clock,
    // error: 'ILoger' is not a key of ServiceMap
    @inject(lazy('ILoger')) readonly later: () => Logger,
  ) {}
}

// Containers of others still fit the contract.
class Foreign implements IContainer {
  resolve<T>(_key: string): T {
    throw new Error('not resolved');
  }
  createScope(_options: { tags: string[] }): Foreign {
    return this;
  }
  register(_key: string, _factory: (scope: Foreign) => unknown): this {
    return this;
  }
  async dispose(): Promise<void> {}
}

export { date, Foreign, Wrong };
