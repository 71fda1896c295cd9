import { all, lazy, optional, Registration, type IContainer } from '@ambit/container';
import { CLOCK, ConsoleLogger, exactly, SystemClock, type Clock, type Logger } from './services.js';

class Greeter {
  constructor(
    readonly logger: Logger,
    readonly clock: Clock,
  ) {}
}

// The dependencies arrive typed, without annotations.
Registration.fromFactory(
  (logger, clock, later, every, anything, other) => {
    exactly<Logger>()(logger)(true);
    exactly<Clock>()(clock)(true);
    exactly<() => Logger>()(later)(true);
    exactly<Clock[]>()(every)(true);
    exactly<unknown>()(anything)(true);
    exactly<SystemClock>()(other)(true);
    return new Greeter(logger, clock);
  },
  ['ILogger', CLOCK, lazy('ILogger'), all('IClock'), 'IAnything', SystemClock],
);

Registration.fromFactory((logger) => exactly<Logger | undefined>()(logger)(true), [optional('ILogger')]);
// error: is not assignable to type 'Logger'
Registration.fromFactory((logger: Logger) => logger, [optional('ILogger')]);

exactly<Registration<Greeter>>()(
  Registration.fromFactory((logger, clock) => new Greeter(logger, clock), ['ILogger', 'IClock']),
)(true);

Registration.fromFactory((logger: Logger, clock: Clock) => new Greeter(logger, clock), ['ILogger', 'IClock']);
Registration.fromFactory((logger: Pick<Logger, 'info'>) => logger, ['ILogger']);
Registration.fromFactory((logger) => logger, ['ILogger', 'IClock']);
Registration.fromFactory(() => 1, []);

// Without a list it gets the scope.
Registration.fromFactory((scope) => {
  exactly<IContainer>()(scope)(true);
  return new Greeter(scope.resolve('ILogger'), scope.resolve('IClock'));
});

// What it makes is what it is registered as.
Registration.fromFactory((logger) => logger, ['ILogger']).to('ILogger');
Registration.fromFactory((scope) => scope.resolve('ILogger')).to('ILogger');
// error: it does not fit 'IClock'
Registration.fromFactory((logger) => logger, ['ILogger']).to('IClock');
// error: it does not fit 'IClock'
Registration.fromFactory((scope) => scope.resolve('ILogger')).to('IClock');
// error: it does not fit 'ILogger'
Registration.fromFactory(async () => new ConsoleLogger()).to('ILogger');

// error: Property 'now' is missing in type 'Logger' but required in type 'Clock'
Registration.fromFactory((logger) => new Greeter(logger, logger), ['ILogger']);
// error: Property 'now' is missing in type 'Logger' but required in type 'Clock'
Registration.fromFactory((clock: Clock) => clock, ['ILogger']);
// error: Target signature provides too few arguments
Registration.fromFactory((logger: Logger, clock: Clock) => new Greeter(logger, clock), ['ILogger']);
