import { runInThisContext } from 'node:vm';
import { transform } from 'esbuild';
import { describe, expect, it, vi } from 'vitest';
import {
  type AbstractClass,
  all,
  type Class,
  Container,
  type Dependency,
  inject,
  injectable,
  type Injector,
  lazy,
  optional,
  Registration,
  singleton,
} from '../src/index.js';
import { graph, verify } from '../src/tools.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest } from './support/scopes.js';

const letters = 'a b c d e f g h i j k l m n o p'.split(' ');
const alphabet = letters.map((letter) => Registration.fromValue(letter).to(letter));

describe('parameters', () => {
  it.each(letters.map((_, count) => [count]))('get their services in order: %i of them', (count) => {
    class Many {
      readonly got: unknown[];
      constructor(...got: unknown[]) {
        this.got = got;
      }
    }
    const keys = letters.slice(0, count);
    const app = openApplication(
      ...alphabet,
      Registration.fromClass(Many, keys).to('class'),
      Registration.fromClass(Many, keys).pipe(singleton()).to('singleton'),
      Registration.fromFactory((...got: unknown[]) => new Many(...got), keys).to('factory'),
    );

    for (const key of ['class', 'singleton', 'factory']) expect(app.resolve<Many>(key).got).toEqual(keys);
  });

  it('keep a default when they have no key, at the end or between others', () => {
    class Defaults {
      constructor(
        @inject('a') readonly a: unknown,
        readonly between = 'default',
        @inject('b') readonly b: unknown = 'unused',
        readonly last = 'last default',
      ) {}
    }
    expect(openApplication(...alphabet).resolve(Defaults)).toEqual(new Defaults('a', 'default', 'b', 'last default'));
  });

  it('without a key and without a default are refused, with class and position', () => {
    class Users {
      constructor(
        @inject('a') readonly a: unknown,
        readonly pool: unknown,
      ) {}
    }
    const app = openApplication(...alphabet, Registration.fromClass(Users).to('IUsers'));
    const error = refusal(() => app.resolve('IUsers'));

    expect(error).toMatchObject({ code: 'AMBIT_NO_KEY_FOR_PARAMETER', key: 'IUsers', path: ['IUsers'] });
    expect(error.message).toContain('Parameter 1 of class Users');
    expect(refusal(() => app.resolve(Users)).code).toBe('AMBIT_NO_KEY_FOR_PARAMETER');
  });

  it('are named by the list where there is one, whatever the decorators say', () => {
    class Users {
      constructor(@inject('a') readonly pool: unknown) {}
    }
    const app = openApplication(...alphabet, Registration.fromClass(Users, ['b']).to('IUsers'));
    expect(app.resolve<Users>('IUsers').pool).toBe('b');
  });

  it('are named by another injector, if the container has one', () => {
    class Users {
      constructor(readonly pool: unknown) {}
    }
    const injector: Injector = { dependencies: (target: AbstractClass) => (target === Users ? ['c'] : []) };
    const app = new Container(injector).addRegistration(...alphabet);

    expect(app.resolve(Users).pool).toBe('c');
    expect(app.createScope({ tags: ['request'] }).resolve(Users).pool).toBe('c');
  });
});

describe('a class given as a value', () => {
  it('is handed out as it is, not made', () => {
    const app = openApplication(Registration.fromValue(Date).to('IClock'));
    expect(openRequest(app).resolve('IClock')).toBe(Date);
  });
});

describe('a class that was never registered', () => {
  let disposed = 0;
  class Handler {
    constructor(@inject('a') readonly a: unknown) {}
    dispose() {
      disposed++;
    }
  }

  it('is made again at each resolve, with its dependencies, and never disposed', async () => {
    const app = openApplication(...alphabet);
    const request = openRequest(app);
    const made = [app, app, request, request].map((scope) => scope.resolve(Handler));
    await app.dispose();

    expect(new Set(made).size).toBe(4);
    expect(made.map(({ a }) => a)).toEqual(['a', 'a', 'a', 'a']);
    expect(disposed).toBe(0);
  });

  it('is what its registration says from then on, once there is one', () => {
    const app = openApplication(...alphabet);
    const request = openRequest(app);
    request.resolve(Handler);
    app.addRegistration(Registration.fromClass(Handler).pipe(singleton()).to(Handler));

    expect(request.resolve(Handler)).toBe(app.resolve(Handler));
  });
});

type PairClass = new (one: unknown, two?: unknown) => { readonly pair: unknown[] };

/** The same class, with its keys listed in each of the ways in which a class can list them. */
function classesThatNeed(...keys: Dependency[]): Record<'`static inject`' | '@injectable', PairClass> {
  const fresh = (): PairClass =>
    class Pair {
      readonly pair: unknown[];
      constructor(one: unknown, two?: unknown) {
        this.pair = [one, two];
      }
    };
  const decorated = fresh();
  injectable(...keys)(decorated as never);
  return {
    '`static inject`': Object.assign(fresh(), { inject: keys }),
    '@injectable': decorated,
  };
}

describe.each(['`static inject`', '@injectable'] as const)('a class that lists its keys with %s', (way) => {
  const app = openApplication(...alphabet);

  it('receives the services in the order of the list', () => {
    const { [way]: Pair } = classesThatNeed('a', 'b');

    expect(app.resolve(Pair).pair).toEqual(['a', 'b']);
  });

  it('receives those of the registration where that has a list, too', () => {
    const { [way]: Pair } = classesThatNeed('a', 'b');
    app.addRegistration(Registration.fromClass(Pair, ['c', 'a']).to('other'));

    expect(app.resolve('other')).toMatchObject({ pair: ['c', 'a'] });
  });

  it('passes its list on to a subclass without a constructor of its own', () => {
    const { [way]: Pair } = classesThatNeed('a', optional('nothing'));
    class Sub extends Pair {}

    expect(app.resolve(Sub).pair).toEqual(['a', undefined]);
  });

  it('is checked by verify()', () => {
    const { [way]: Pair } = classesThatNeed('misspelt');
    const other = openApplication(Registration.fromClass(Pair).to('pair'));

    expect(() => verify(other)).toThrow("'misspelt'");
  });
});

describe('a class', () => {
  const app = openApplication(...alphabet);

  it('may have something else that is called `inject`', () => {
    class OfAnotherLibrary {
      static inject(): string {
        return 'not a list';
      }
    }
    expect(app.resolve(OfAnotherLibrary)).toBeInstanceOf(OfAnotherLibrary);
  });

  it('needs what its decorators say where it has a list as well', () => {
    class Both {
      static inject = ['b'];
      constructor(@inject('a') readonly one: unknown) {}
    }
    expect(app.resolve(Both).one).toBe('a');
  });

  it('does not show what decorators leave on it', () => {
    @injectable('a')
    class Shown {
      constructor(readonly one: unknown) {}
    }
    expect(Object.keys(Shown)).toEqual([]);
  });

  it('can be decorated by what compiles decorators of ECMAScript', async () => {
    const source = `
      @injectable('a', 'b')
      class Standard {
        constructor(one, two) { this.pair = [one, two]; }
      }
      return Standard;`;
    const { code } = await transform(`export const make = (injectable) => {${source}}`, { target: 'es2022' });
    const url = `data:text/javascript,${encodeURIComponent(code)}`;
    const { make } = (await import(url)) as { make: (decorator: unknown) => Class<{ pair: unknown[] }> };

    expect(app.resolve(make(injectable)).pair).toEqual(['a', 'b']);
  });
});

class Base {
  readonly got: readonly unknown[];
  constructor(@inject('a') one: unknown, @inject('b') two: unknown) {
    this.got = [one, two];
  }
}

/** A subclass of the text; a compiler of the tests would change classes that are written here. */
const subclass = (text: string, parent: Class<Base> = Base): Class<Base> =>
  (runInThisContext(`(Base) => (${text})`) as (parent: Class<Base>) => Class<Base>)(parent);

const open = () => openApplication(Registration.fromValue('A').to('a'), Registration.fromValue('B').to('b'));
const gets = (text: string) => open().resolve(subclass(text)).got;

/** Text that looks like a constructor and is none, or that hides where a constructor begins or ends. */
const distractions = [
  '// constructor(a) {',
  '/* constructor(a) { */',
  '/** } { ( [ \' " ` */',
  `text = 'constructor(a) {' + "constructor(a) {" + 'it\\'s }';`,
  'html = `constructor(a) { ${[1].map((n) => `<b>${n} constructor(b) {</b>`).join("}")} {`;',
  'pattern = /[/{(\'"`]constructor\\(a\\) {/g;',
  'clean(s) { return s.replace(/["\'{]/g, "").split(/}/) / 2 / 3; }',
  'half(a, b) { return (a + b) / 2 + [4][0] / 2; }',
  'name() { return this.constructor.name; }',
  'clone() { return new this.constructor("x", "y"); }',
  'nested() { return class { constructor(a) { this.a = a; } }; }',
  'maker = { constructor(a) { return a; } };',
  'static made = class extends Base { constructor() { super("x"); } };',
  'static { const constructor = (a) => a; constructor(1); }',
  'static constructor(a) { return a; }',
  '["constructor" + "(a)"](a) { return a; }',
  '#constructed = 1;',
  'constructors(a) { return a; }',
];

/** Constructors that say what the parent gets. */
const own = [
  'constructor(ttl = 60) { super("own", ttl); }',
  'constructor(ttl=60){super("own",ttl)}',
  'constructor() { super("own", 60); }',
  'constructor({ ttl } = { ttl: 60 }) { super("own", ttl); }',
  'constructor(fill = ")", ...rest) { super("own", 60, ...rest); }',
  'constructor(...rest) { super("own", 60, ...rest); }',
  'constructor  (\n  ttl = 60 // seconds\n) {\n super("own", ttl);\n}',
  'constructor /* of */ (ttl = 60) { super("own", ttl); }',
  "'constructor'(ttl = 60) { super('own', ttl); }",
];

/** Constructors that only pass on what they get: what compilers write for a class without one that has fields. */
const passing = [
  'constructor() { super(...arguments); this.extra = 1; }',
  'constructor(){super(...arguments);this.extra=1}',
  'constructor(...args) { super(...args); this.extra = 1; }',
  'constructor(...e){super(...e),this.extra=1}',
  'constructor() { counted(); super(...arguments); function counted() {} }',
];

describe('a subclass', () => {
  it.each(['', ...distractions])('without a constructor gets what its parent asks for: %s', (member) => {
    expect(gets(`class Sub extends Base { ${member}\n }`)).toEqual(['A', 'B']);
  });

  it.each(own)('with a constructor that needs nothing gets nothing: %s', (constructor) => {
    expect(gets(`class Sub extends Base { ${constructor} }`)).toEqual(['own', 60]);
    const around = distractions.flatMap((member) => [`${member}\n${constructor}`, `${constructor}\n${member}`]);
    expect(around.filter((members) => gets(`class Sub extends Base { ${members}\n }`)[0] !== 'own')).toEqual([]);
  });

  it.each(passing)('that passes on its arguments gets what its parent asks for: %s', (constructor) => {
    expect(gets(`class extends Base { ${constructor} }`)).toEqual(['A', 'B']);
    const before = distractions.filter((member) => gets(`class extends Base { ${member}\n${constructor} }`)[1] !== 'B');
    expect(before).toEqual([]);
  });

  it('with a decorated constructor gets what that asks for, and leaves its parent as it is', () => {
    class Sub extends Base {
      constructor(@inject('b') mine: unknown) {
        super('own', mine);
      }
    }
    expect(open().resolve(Sub).got).toEqual(['own', 'B']);
    expect(open().resolve(Base).got).toEqual(['A', 'B']);
  });

  it('counts for the classes below it', () => {
    const Sub = subclass('class Sub extends Base { constructor(ttl = 60) { super("own", ttl); } }');
    expect(open().resolve(subclass('class extends Base {}', Sub)).got).toEqual(['own', 60]);
  });

  it('whose parent has a parameter without a key is refused, like the parent', () => {
    class Middle extends Base {
      constructor(readonly size: unknown) {
        super('a', 'b');
      }
    }
    class Sub extends Middle {}

    expect(refusal(() => open().resolve(Middle)).code).toBe('AMBIT_NO_KEY_FOR_PARAMETER');
    expect(refusal(() => open().resolve(Sub)).code).toBe('AMBIT_NO_KEY_FOR_PARAMETER');
  });

  it('whose text cannot be read is refused, and made from its list of keys', () => {
    const Sub = subclass(
      'class extends Base { test(s) { if (s) /[{]/.test(s); } constructor(ttl = 60) { super("own", ttl); } }',
    );
    expect(refusal(() => open().resolve(Sub)).code).toBe('AMBIT_NO_KEY_FOR_PARAMETER');

    const listed = Registration.fromClass(Sub, ['b', 'a']).to('ISub');
    expect(open().addRegistration(listed).resolve<Base>('ISub').got).toEqual(['own', 'B']);
  });

  it('of a class that asks for nothing is made without a look at its text', () => {
    class Plain {}
    const Sub = Object.setPrototypeOf(function Sub() {}, Plain) as Class;
    expect(open().resolve(Sub)).toBeInstanceOf(Sub);
  });
});

describe('a subclass written as a function', () => {
  const derived = (text: string) => {
    const Sub = subclass(text);
    Object.setPrototypeOf(Sub, Base);
    Object.setPrototypeOf(Sub.prototype, Base.prototype);
    return Sub;
  };

  it('gets what its parent asks for where it passes on its arguments', () => {
    const Sub = derived('function Sub() { return ((B, all) => Reflect.construct(B, all, Sub))(Base, arguments); }');
    expect(open().resolve(Sub).got).toEqual(['A', 'B']);
  });

  it('is refused otherwise, by verify too, until it has a list of keys', () => {
    const Sub = derived('function Sub() { return Reflect.construct(Base, ["own", 60], Sub); }');
    const app = open();
    expect(refusal(() => app.resolve(Sub)).code).toBe('AMBIT_NO_KEY_FOR_PARAMETER');

    app.addRegistration(Registration.fromClass(Sub).to('ISub'));
    expect(refusal(() => verify(app)).problems).toMatchObject([{ code: 'AMBIT_NO_KEY_FOR_PARAMETER' }]);
    expect(graph(app).nodes).toHaveLength(3);

    app.addRegistration(Registration.fromClass<typeof Sub, []>(Sub, [] as never).to('IListed'));
    expect(app.resolve<Base>('IListed').got).toEqual(['own', 60]);
  });
});

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
