import { Registration } from '@ambit/container';
import { singleton } from '@ambit/container';
import {
  CLOCK,
  ConsoleLogger,
  exactly,
  LookAlike,
  Pool,
  Store,
  SystemClock,
  type Clock,
  type Logger,
} from './services.js';

class MemoryStore extends Store {
  load(id: string): unknown {
    return this.rows.get(id);
  }
}

Registration.fromClass(ConsoleLogger).to('ILogger');
Registration.fromClass(MemoryStore).to('IStore');
Registration.fromClass(class extends Pool {}).to('IPool');
Registration.fromClass(SystemClock).to(CLOCK);
Registration.fromClass(SystemClock).to(SystemClock);
Registration.fromValue(80).to('IPort');
Registration.fromValue(undefined).to('ICache');
Registration.fromFactory((): Logger => new ConsoleLogger()).to('ILogger');
Registration.fromFactory((): never => {
  throw new Error('no logger here');
}).to('ILogger');

// A literal keeps its type, an object does not become constant.
Registration.fromValue('info').to('ILevel');
Registration.fromValue('info').pipe(singleton()).to('ILevel');
exactly<Registration<'info'>>()(Registration.fromValue('info'))(true);
exactly<Registration<{ level: string; sizes: number[] }>>()(Registration.fromValue({ level: 'info', sizes: [1] }))(
  true,
);
exactly<Registration<string | undefined>>()(Registration.fromValue(undefined as string | undefined))(true);
exactly<Registration<string>[]>()(['a', 'b'].map((value) => Registration.fromValue(value)))(true);
// error: it does not fit 'ILevel'
Registration.fromValue('debug').to('ILevel');

// A key outside the map takes anything.
Registration.fromClass(ConsoleLogger).to('IAnything');
Registration.fromClass(ConsoleLogger).to(Symbol('anything'));
Registration.fromValue(undefined).to('IAnything' as string);

// A key of the map takes what fits, and the compiler names the key and both types.
// error: "it does not fit 'IClock'", ConsoleLogger, Clock
Registration.fromClass(ConsoleLogger).to('IClock');
// error: "it does not fit a symbol key", ConsoleLogger, Clock
Registration.fromClass(ConsoleLogger).to(CLOCK);
// error: "it does not fit 'IPool'", LookAlike, Pool
Registration.fromClass(LookAlike).to('IPool');
// error: it does not fit 'IPort'
Registration.fromValue(true).to('IPort');
// error: it does not fit 'ILogger'
Registration.fromValue({ info: (line: number) => line.toFixed() }).to('ILogger');
// error: it does not fit 'ILogger'
Registration.fromValue({}).to('ILogger');

// Fitting in part is not fitting.
// error: it does not fit 'ILogger'
Registration.fromFactory((): Logger | Clock => new SystemClock()).to('ILogger');
// error: it does not fit 'ILogger'
Registration.fromFactory((): Logger | undefined => undefined).to('ILogger');
// error: it does not fit 'IClock'
Registration.fromClass(ConsoleLogger).to('ILogger' as 'ILogger' | 'IClock');

// A class as a key takes what fits the class.
// error: it does not fit a class key
Registration.fromClass(SystemClock).to(ConsoleLogger);

// error: is not assignable to parameter of type
Registration.fromClass(ConsoleLogger).to(1);

// error: abstract
Registration.fromClass(Store);

// An alias is what it stands for.
Registration.alias('ILogger').to('ILogger');
Registration.alias(SystemClock).to(CLOCK);
Registration.alias('IAnything').to('IOther');
Registration.alias<Logger>('IAnything').to('ILogger');
// error: it does not fit 'ILogger'
Registration.alias('IAnything').to('ILogger');
// error: it does not fit 'ILogger'
Registration.alias('IClock').to('ILogger');
