import { Container, Registration, type IContainer } from '@ambit/container';
import { CLOCK, ConsoleLogger, exactly, Pool, SystemClock, type Logger } from './services.js';

const scope = new Container({ tags: ['transaction'] });

scope.register('ILogger', () => new ConsoleLogger());
scope.register(CLOCK, () => new SystemClock());
scope.register(Pool, () => new Pool());
scope.register('IConnection', () => ({ commit: () => {} })).register(Symbol('other'), () => 1);
scope.register('IConnection' as string, () => undefined);
scope.register('ILogger', (own) => {
  exactly<IContainer>()(own)(true);
  return own.resolve<Logger>('IOtherLogger');
});

// error: missing in type 'SystemClock' but required in type 'Logger'
scope.register('ILogger', () => new SystemClock());
// error: missing in type 'ConsoleLogger' but required in type 'Clock'
scope.register(CLOCK, () => new ConsoleLogger());
// error: 'SystemClock' is missing the following properties from type 'Pool'
scope.register(Pool, () => new SystemClock());
// error: is not assignable to parameter of type
scope.register('IConnection', 'not a factory');

// Only what has a key can be added.
scope.addRegistration(Registration.fromValue(1).to('IAnything'), Registration.fromClass(Pool).to(Pool));
scope.addRegistration(...[Registration.fromValue(1).to('IAnything')]);
// error: a registration has no key: end it with .to(key)
scope.addRegistration(Registration.fromValue(1));
// error: a registration has no key: end it with .to(key)
scope.addRegistration(Registration.fromValue(1).to('IAnything'), Registration.fromClass(Pool));
// error: Type 'string' is not assignable to type 'Binding'
scope.addRegistration('IAnything');

// error: is not assignable to type 'readonly string[]'
new Container().createScope({ tags: 'request' });

// Services of a scope are checked as register() does.
scope.createScope({ services: { ILogger: () => new ConsoleLogger(), IOther: (own) => own.resolve(CLOCK) } });
// error: missing in type 'SystemClock' but required in type 'Logger'
scope.createScope({ services: { ILogger: () => new SystemClock() } });
// error: is not assignable to type
scope.createScope({ services: { IOther: 'not a factory' } });
// error: No overload matches this call
new Container({ tags: [], services: { ILogger: () => new ConsoleLogger() } });
