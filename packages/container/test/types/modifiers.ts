import {
  decorate,
  externallyOwned,
  hasTag,
  onDispose,
  onStart,
  Registration,
  scope,
  singleton,
  type IContainer,
} from '@ambit/container';
import { ConsoleLogger, exactly, SystemClock, type Clock, type Logger } from './services.js';

class Upper implements Logger {
  constructor(private readonly inner: Logger) {}
  info(line: string): void {
    this.inner.info(line.toUpperCase());
  }
}

const logger = Registration.fromClass(ConsoleLogger);

// Hooks know what they get, without annotations, wherever they stand.
logger.pipe(onDispose((instance) => exactly<ConsoleLogger>()(instance)(true)));
logger.pipe(onStart((instance) => exactly<ConsoleLogger>()(instance)(true)));
logger.pipe(
  singleton(),
  onDispose((instance) => exactly<ConsoleLogger>()(instance)(true)),
);
logger.pipe(
  singleton(),
  scope(hasTag('request')),
  onStart((instance) => exactly<ConsoleLogger>()(instance)(true)),
  onDispose((instance) => exactly<ConsoleLogger>()(instance)(true)),
);
logger
  .pipe(
    onDispose((instance) => instance.close()),
    singleton(),
  )
  .to('ILogger');
logger.pipe(onDispose(async (instance) => instance.close()));
logger.pipe(onDispose((instance: Logger) => instance.info('end')));
logger.pipe(onDispose(() => {}));
// error: Property 'open' does not exist on type 'ConsoleLogger'
logger.pipe(onDispose((instance) => instance.open()));
// error: Clock
logger.pipe(onDispose((instance: Clock) => instance.now()));

// Modifiers leave the type as it is.
exactly<Registration<ConsoleLogger>>()(logger.pipe(singleton(), scope(hasTag('request'))))(true);
exactly<Registration<ConsoleLogger>>()(logger.pipe(singleton(), externallyOwned()))(true);
exactly<Registration<ConsoleLogger>>()(logger.pipe(singleton()).pipe(scope((s) => s.hasTag('request'))))(true);
exactly<Registration<ConsoleLogger>>()(
  logger.pipe(
    singleton(),
    scope(hasTag('a')),
    scope(hasTag('b')),
    onStart(() => {}),
    onDispose(() => {}),
  ),
)(true);
exactly<Registration<ConsoleLogger>>()(logger.pipe())(true);

// A decorator may change it.
exactly<Registration<Upper>>()(logger.pipe(decorate((inner) => new Upper(inner))))(true);
logger.pipe(
  decorate((inner, owner) => {
    exactly<ConsoleLogger>()(inner)(true);
    exactly<IContainer>()(owner)(true);
    return inner;
  }),
);
logger.pipe(decorate((inner) => new Upper(inner))).to('ILogger');
logger
  .pipe(
    singleton(),
    decorate((inner) => new Upper(inner)),
    scope(hasTag('request')),
  )
  .to('ILogger');
logger.pipe(
  decorate((inner) => new Upper(inner)),
  onDispose((instance) => exactly<Upper>()(instance)(true)),
);
logger
  .pipe(
    onDispose((instance) => exactly<ConsoleLogger>()(instance)(true)),
    decorate((inner) => new Upper(inner)),
    decorate((inner) => {
      exactly<Upper>()(inner)(true);
      return new SystemClock();
    }),
  )
  .to('IClock');
const long = logger.pipe(
  singleton(),
  scope(hasTag('a')),
  decorate((inner) => new Upper(inner)),
  onStart((instance) => exactly<Upper>()(instance)(true)),
  onDispose((instance) => exactly<Upper>()(instance)(true)),
  decorate(() => new SystemClock()),
  onStart((instance) => exactly<SystemClock>()(instance)(true)),
  onDispose((instance) => exactly<SystemClock>()(instance)(true)),
  scope(hasTag('b')),
  decorate((inner) => inner.now()),
);
exactly<Registration<Date>>()(long)(true);
const five = logger.pipe(
  singleton(),
  singleton(),
  singleton(),
  singleton(),
  decorate(() => new SystemClock()),
);
// error: it does not fit 'ILogger'
five.to('ILogger');
// error: it does not fit 'ILogger'
logger.pipe(decorate(() => new SystemClock())).to('ILogger');
const decorated = logger.pipe(
  singleton(),
  decorate((inner) => inner.close),
  scope(hasTag('request')),
);
// error: it does not fit 'ILogger'
decorated.to('ILogger');
// error: Property 'now' does not exist on type 'ConsoleLogger'
logger.pipe(decorate((inner) => inner.now()));

// A predicate sees tags and nothing else.
scope((tagged) => tagged.hasTag('request') && !tagged.hasTag('background'));
scope(() => true);
scope((tagged) => {
  exactly<'hasTag'>()(null as unknown as keyof typeof tagged)(true);
  return true;
});
// error: Property 'resolve' does not exist on type 'Tagged'
scope((tagged) => tagged.resolve('ILogger'));
// error: Property 'tags' does not exist on type 'Tagged'
scope((tagged) => tagged.tags.includes('request'));
// error: is not assignable to parameter of type 'ScopePredicate'
scope('request');
// error: is not assignable to type 'boolean'
scope(async () => true);
// error: is not assignable to parameter of type 'string'
hasTag(/request/);
